#include "default_reader.h"

#include "adios_errors.h"
#include "base/text.h"
#include "location/find/location.h"

#include <algorithm>
#include <dlfcn.h>

namespace stepstore::adios {
namespace {

namespace core = adios2::core;

using Make = std::shared_ptr<core::Engine> (*)(core::IO&, const std::string&, adios2::Mode,
                                               adios2::helper::Comm);
using MakeWithMetadata = std::shared_ptr<core::Engine> (*)(core::IO&, const std::string&, adios2::Mode,
                                                           adios2::helper::Comm, const char*, std::size_t);

// IO::MakeEngine of engines whose classes have no installed header.
#define MADE_BY(kind, engine, more)                                                                          \
    "_ZN6adios24core2IO" kind "INS0_6engine9" engine                                                         \
    "EEESt10shared_ptrINS0_6EngineEERS1_RKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEENS_4ModeENS_"  \
    "6helper4CommE" more

template <class Function>
Function function_of_core(const char* name)
{
    void* library = dlopen(STEPSTORE_ADIOS2_CORE_SONAME, RTLD_LAZY | RTLD_NOLOAD);
    const auto found = reinterpret_cast<Function>(library == nullptr ? nullptr : dlsym(library, name));
    if (found == nullptr)
        throw Error(-DER_NOSYS, std::string("the ADIOS2 of this process has no function ") + name +
                                    ", so pools cannot be read where a program names no engine: name the "
                                    "engine Stepstore");
    return found;
}

bool names_no_engine(const core::IO& io)
{
    const auto& type = io.m_EngineType;
    return type.empty() || same_name(type, "File") || same_name(type, "BPFile") || same_name(type, "BP") ||
           same_name(type, "FileStream");
}

// A pool that cannot be opened is one: its error says more than that it is no BP file.
bool lies_in_pool(const std::string& name)
{
    try {
        return stepstore::lies_in_pool(name);
    } catch (const Error& error) {
        return error.code() != -DER_INVAL;
    }
}

core::IO::MakeEngineFunc pools_or(Make files, const core::IO::MakeEngineFunc& pools)
{
    return
        [files, pools](core::IO& io, const std::string& name, adios2::Mode mode, adios2::helper::Comm comm) {
            return names_no_engine(io) && lies_in_pool(name) ? pools(io, name, mode, std::move(comm))
                                                             : files(io, name, mode, std::move(comm));
        };
}

} // namespace

void read_pools_by_default(const core::IO::MakeEngineFunc& make)
{
    const auto bp3 = function_of_core<Make>(MADE_BY("10MakeEngine", "BP3Reader", ""));
    const auto bp3_writer = function_of_core<Make>(MADE_BY("10MakeEngine", "BP3Writer", ""));
    const auto bp4 = function_of_core<Make>(MADE_BY("10MakeEngine", "BP4Reader", ""));
    const auto bp4_writer = function_of_core<Make>(MADE_BY("10MakeEngine", "BP4Writer", ""));
    core::IO::RegisterEngine("bp3", factory_entry(pools_or(bp3, make), bp3_writer, [] { return nullptr; }));
    core::IO::RegisterEngine("bp4", factory_entry(pools_or(bp4, make), bp4_writer, [] {
                                 return function_of_core<MakeWithMetadata>(
                                     MADE_BY("16MakeEngineWithMD", "BP4Reader", "PKcm"));
                             }));
}

} // namespace stepstore::adios

// The library that ADIOS2 loads. It uses no symbol and no header of ADIOS2. It finds the ADIOS2 that called
// it. It makes sure that ADIOS2's C++ interface (libadios2_cxx) is in the process and comes from beside that
// library. Then it loads the build of the engine for that release, which is linked to it by name. So one
// build of the plugin serves the PyPI wheel, MPI builds, and installations in any place; a Python process
// with the wheel has libadios2_core alone. The plugin never brings a second copy of ADIOS2 into a process.
#include "adapter.h"
#include "plugin_api.h"

#include "comm/communicator.h"
#include "daos_errno.h"
#include "stepstore/adios2.h"
#include "stepstore/error.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <map>
#include <mutex>
#include <optional>

namespace stepstore {
namespace {

thread_local std::string last_error;

// Communicators that were handed over and not yet taken by an opening, by location; "" serves any.
std::mutex handing; // guards handed_over
std::map<std::string, std::shared_ptr<Communicator>>& handed_over()
{
    static std::map<std::string, std::shared_ptr<Communicator>> communicators;
    return communicators;
}

std::shared_ptr<Communicator> take_handed_over(const std::string& location)
{
    std::lock_guard lock(handing);
    for (const auto& name : {location, std::string()}) {
        auto found = handed_over().find(name);
        if (found == handed_over().end()) continue;
        auto communicator = std::move(found->second);
        handed_over().erase(found);
        return communicator;
    }
    return nullptr;
}

std::string path_of(const void* address)
{
    Dl_info object{};
    return dladdr(address, &object) == 0 || object.dli_fname == nullptr ? std::string() : object.dli_fname;
}

std::string folder_of(const void* address)
{
    std::error_code failed;
    auto path = std::filesystem::canonical(path_of(address), failed);
    return failed ? std::string() : path.parent_path().string();
}

void* open_or_throw(const std::string& path, const std::string& what)
{
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    const char* why = dlerror();
    throw Error(-DER_NOSYS, what + ": " + (why != nullptr ? why : path));
}

// Libraries of the same name: the engine uses the first that the system finds.
void require_one_adios2(const PluginEngineApi& engine, const std::string& folder)
{
    const std::string other = folder_of(engine.adios2);
    if (other == folder) return;
    throw Error(-DER_NOSYS, "this process has two ADIOS2, in " + folder + " and in " + other +
                                ", and Stepstore would serve the first one with the second: load one of "
                                "them only (LD_LIBRARY_PATH, LD_PRELOAD and PYTHONPATH say which)");
}

// libadios2_cxx of this ADIOS2, under the name that its release gives it.
void load_cxx_library(const Adios2& adios2)
{
    const auto name = std::filesystem::path(adios2.core).filename().string();
    const auto version = name.substr(name.find(".so"));
    std::string cxx;
    for (const char* kind : {"libadios2_cxx", "libadios2_cxx11"}) {
        cxx = kind + version;
        if (dlopen(cxx.c_str(), RTLD_LAZY | RTLD_NOLOAD) != nullptr) return;
        if (std::filesystem::exists(adios2.folder + "/" + cxx)) break;
    }
    open_or_throw(adios2.folder + "/" + cxx, "the C++ library of " + to_text(adios2) + " cannot be loaded");
}

// core: the libadios2_core that opens the engine.
const PluginEngineApi& load_engine(const std::string& core)
{
    static std::mutex loading; // guards `engine`
    static const PluginEngineApi* engine = nullptr;
    std::lock_guard lock(loading);
    const auto adios2 = adios2_at(core);
    if (engine != nullptr) {
        require_one_adios2(*engine, adios2.folder);
        return *engine;
    }
    const auto* here = reinterpret_cast<const void*>(&stepstore_adios2_set_communicator);
    const auto path = adapter_for(adios2, folder_of(here));
    load_cxx_library(adios2);
    void* library = open_or_throw(path, "the engine of Stepstore for " + to_text(adios2) +
                                            " cannot be loaded. If it was built with another compiler, "
                                            "build it again: stepstore adios2-build --adios2 " +
                                            adios2.folder);
    auto api = reinterpret_cast<PluginEngineApiFunction>(dlsym(library, plugin_engine_symbol));
    if (api != nullptr) engine = api(STEPSTORE_ADIOS2_INTERFACE, here);
    if (engine == nullptr)
        throw Error(-DER_NOSYS,
                    path +
                        " and libstepstore_adios2.so are of different versions of Stepstore: "
                        "install both again, or build it again: stepstore adios2-build --adios2 " +
                        adios2.folder);
    require_one_adios2(*engine, adios2.folder);
    return *engine;
}

const PluginEngineApi* loaded_engine = nullptr;

// libadios2_core in this process; empty: there is none.
std::string path_of_adios2()
{
    std::string path;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* to) {
            const std::string_view name = info->dlpi_name != nullptr ? info->dlpi_name : "";
            if (name.find("/libadios2_core.so") == std::string_view::npos) return 0;
            *static_cast<std::string*>(to) = name;
            return 1;
        },
        &path);
    return path;
}

// In the environment of `stepstore adios2-env --default`.
bool asked_to_read_by_default()
{
    const char* wanted = std::getenv("STEPSTORE_ADIOS2_DEFAULT");
    return wanted != nullptr && std::string_view(wanted) == "on";
}

// The libadios2_core with this place; of one that is elsewhere, nullptr too, the first in this process.
std::string core_at(const void* place)
{
    std::string core = place != nullptr ? path_of(place) : "";
    if (core.find("libadios2_core.so") == std::string::npos) core = path_of_adios2();
    if (core.empty())
        throw Error(-DER_NOSYS, "there is no ADIOS2 (libadios2_core.so) in this process: load it first");
    return core;
}

void register_native(const std::string& core, bool by_default)
{
    load_engine(core).register_native(take_handed_over, by_default || asked_to_read_by_default());
}

// For C: 0, or the code of what was thrown, whose text last_error() gives.
template <class Call>
int code_of(Call&& call)
{
    try {
        call();
        return 0;
    } catch (const Error& error) {
        last_error = error.what();
        return error.code();
    } catch (const std::exception& error) {
        last_error = error.what();
        return -DER_NOMEM;
    }
}

} // namespace
} // namespace stepstore

using stepstore::handed_over;

extern "C" {

// ADIOS2 calls it, in serial and in MPI builds alike. PluginEngineApi says what the arguments are. Before
// 2.12 there are four of them.
STEPSTORE_API void* EngineCreate(void* io, const std::string& name, int mode, void* communicator)
{
    const auto& engine = stepstore::load_engine(stepstore::path_of(__builtin_return_address(0)));
    stepstore::loaded_engine = &engine;
    return engine.create(io, name, mode, communicator, stepstore::take_handed_over);
}

STEPSTORE_API void EngineDestroy(void* engine)
{
    if (engine != nullptr) stepstore::loaded_engine->destroy(engine);
}

// For native.cc and preload.cc: stepstore_adios2_register() for the ADIOS2 that has this place, of several.
STEPSTORE_API int stepstore_adios2_register_at(const void* place, int by_default)
{
    return stepstore::code_of(
        [&] { stepstore::register_native(stepstore::core_at(place), by_default != 0); });
}

// For native.cc. nullptr: there is no engine for this ADIOS2, and last_error() says why.
STEPSTORE_API void* stepstore_adios2_create_operator(const void* parameters, const void* place)
{
    void* object = nullptr;
    stepstore::code_of([&] {
        const auto& engine = stepstore::load_engine(stepstore::core_at(place));
        object = engine.create_operator(parameters);
        stepstore::loaded_engine = &engine;
    });
    return object;
}

STEPSTORE_API void stepstore_adios2_destroy_operator(void* object)
{
    if (object != nullptr) stepstore::loaded_engine->destroy_operator(object);
}

STEPSTORE_API int stepstore_adios2_set_communicator(const char* location, const void* mpi_comm)
{
    return stepstore::code_of([&] {
        std::string name = location != nullptr ? location : "";
        auto communicator = mpi_comm != nullptr ? stepstore::mpi_communicator(mpi_comm) : nullptr;
        std::lock_guard lock(stepstore::handing);
        if (communicator)
            handed_over()[name] = std::move(communicator);
        else
            handed_over().erase(name);
    });
}

STEPSTORE_API int stepstore_adios2_register(void)
{
    return stepstore_adios2_register_at(nullptr, 0);
}

STEPSTORE_API int stepstore_adios2_read_by_default(void)
{
    return stepstore_adios2_register_at(nullptr, 1);
}

STEPSTORE_API const char* stepstore_adios2_last_error(void)
{
    return stepstore::last_error.c_str();
}
}

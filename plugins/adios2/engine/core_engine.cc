#include "core_engine.h"

#include "default_reader.h"
#include "native_engine.h"

namespace stepstore::adios {
namespace {

namespace core = adios2::core;

TakeHandedOver take_handed_over = nullptr; // set before there is an engine

template <Way way>
std::shared_ptr<core::Engine> make(core::IO& io, const std::string& name, adios2::Mode mode,
                                   adios2::helper::Comm comm)
{
    return std::make_shared<NativeEngine>(io, name, mode, std::move(comm), way, take_handed_over);
}

} // namespace

void register_native(TakeHandedOver handed_over, bool by_default)
{
    if (!misfit().empty())
        throw Error(-DER_NOSYS, misfit() + ". Use the engine type Plugin (docs/adios2.md)");
    take_handed_over = handed_over;
    const auto with_metadata = [] {
        return [](core::IO& io, const std::string& name, const adios2::Mode mode, adios2::helper::Comm comm,
                  const char*,
                  const std::size_t) { return make<Way::metadata>(io, name, mode, std::move(comm)); };
    };
    core::IO::RegisterEngine("stepstore", factory_entry(make<Way::named>, make<Way::named>, with_metadata));
    if (by_default) read_pools_by_default(make<Way::found>);
}

} // namespace stepstore::adios

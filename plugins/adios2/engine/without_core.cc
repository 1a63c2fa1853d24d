// In place of the native engine and of what the plugin has of ADIOS2's core, where the headers of ADIOS2's
// core were missing when the library was built.
#include "core_engine.h"
#include "plugin_host.h"

namespace stepstore::adios {

void register_native(TakeHandedOver, bool)
{
    throw Error(-DER_NOSYS,
                misfit() + ", so there is no native engine: use the engine type Plugin (docs/adios2.md)");
}

const std::string& misfit()
{
    static const std::string why = "Stepstore was built without the headers of ADIOS2's core";
    return why;
}

void ReadAdapter::define_structure(Shown&, const steps::Dims&)
{
}

void Inventory::note(const adios2::IO&, const std::unordered_map<const void*, steps::VariableId>&)
{
}

bool Inventory::visit(const adios2::IO&, const adios2::core::Engine*, Look) const
{
    return false;
}

std::unique_ptr<PluginHost> make_plugin_host(adios2::IO, const std::string&, adios2::Mode,
                                             const StreamAdapter&)
{
    return nullptr;
}

} // namespace stepstore::adios

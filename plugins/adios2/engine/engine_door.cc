// What the loader asks this library for, and the operator by which adios2.xml loads the native engine.
#include "engine_door.h"

#include "base/module.h"
#include "core_engine.h"
#include "releases.h"
#include "stepstore/export.h"

#include <stdexcept>
#include <string_view>

namespace stepstore::adios {
namespace {

// Stands for the operator that ADIOS2 has asked for. It must not be used on data.
class LoadsTheEngine final : public adios2::plugin::PluginOperatorInterface {
public:
    using PluginOperatorInterface::PluginOperatorInterface;
    std::size_t Operate(const char*, const adios2::Dims&, const adios2::Dims&, const adios2::DataType,
                        char*) override
    {
        refuse();
    }
    std::size_t InverseOperate(const char*, const std::size_t, char*) override { refuse(); }
    bool IsDataTypeValid(const adios2::DataType) const override { return false; } // ADIOS2 passes it over

private:
    [[noreturn]] static void refuse()
    {
        throw std::invalid_argument("stepstore: the operator of libstepstore_adios2_native.so only loads the "
                                    "engine: remove it from the variable's operations");
    }
};

void destroy_plugin(void* engine)
{
    delete static_cast<adios2::plugin::PluginEngineInterface*>(engine);
}

void* create_operator(const void* parameters)
{
    return static_cast<adios2::plugin::PluginOperatorInterface*>(
        new LoadsTheEngine(*static_cast<const adios2::Params*>(parameters)));
}

void destroy_operator(void* object)
{
    delete static_cast<adios2::plugin::PluginOperatorInterface*>(object);
}

} // namespace
} // namespace stepstore::adios

extern "C" STEPSTORE_API const stepstore::PluginEngineApi* stepstore_adios2_engine(const char* interface,
                                                                                   const void* loader)
{
    namespace adios = stepstore::adios;
    static const stepstore::PluginEngineApi api = {adios::create_plugin,   adios::destroy_plugin,
                                                   adios::create_operator, adios::destroy_operator,
                                                   adios::register_native, adios::place_in_core()};
    if (std::string_view(interface) != STEPSTORE_ADIOS2_INTERFACE) return nullptr;
    stepstore::find_modules_also_beside(loader);
    return &api;
}

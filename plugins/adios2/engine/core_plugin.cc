// The plugin engine of ADIOS2 before 2.12, where a plugin is an engine of the core. It calls the native
// engine. ADIOS2's side forwards these calls and no others, so programs have no CurrentStep(), Steps(),
// BlocksInfo() and spans.
#include "core_engine.h"
#include "engine_door.h"
#include "native_engine.h"

namespace stepstore::adios {
namespace {

namespace core = adios2::core;

class CorePlugin final : public adios2::plugin::PluginEngineInterface {
public:
    CorePlugin(core::IO& io, const std::string& name, adios2::Mode mode, adios2::helper::Comm comm,
               TakeHandedOver take_handed_over)
        : PluginEngineInterface(io, name, mode, comm.Duplicate()),
          engine_(io, name, mode, std::move(comm), Way::plugin, take_handed_over)
    {
        m_IsOpen = true;
    }

    adios2::StepStatus BeginStep(adios2::StepMode mode, const float timeout_seconds) override
    {
        return engine_.BeginStep(mode, timeout_seconds);
    }
    void EndStep() override { engine_.EndStep(); }
    void PerformPuts() override { engine_.PerformPuts(); }
    void PerformGets() override { engine_.PerformGets(); }

protected:
#define forward(T)                                                                                           \
    void DoPutSync(core::Variable<T>& variable, const T* values) override                                    \
    {                                                                                                        \
        engine_.DoPutSync(variable, values);                                                                 \
    }                                                                                                        \
    void DoPutDeferred(core::Variable<T>& variable, const T* values) override                                \
    {                                                                                                        \
        engine_.DoPutDeferred(variable, values);                                                             \
    }                                                                                                        \
    void DoGetSync(core::Variable<T>& variable, T* values) override { engine_.DoGetSync(variable, values); } \
    void DoGetDeferred(core::Variable<T>& variable, T* values) override                                      \
    {                                                                                                        \
        engine_.DoGetDeferred(variable, values);                                                             \
    }
    ADIOS2_FOREACH_STDTYPE_1ARG(forward)
#undef forward
    void DoClose(const int transport) override { engine_.Close(transport); }

private:
    NativeEngine engine_;
};

} // namespace

void* create_plugin(void* io, const std::string& name, int mode, void* communicator,
                    TakeHandedOver handed_over)
{
    if (!misfit().empty()) throw std::runtime_error("stepstore: " + misfit());
    auto& given = *static_cast<adios2::helper::Comm*>(communicator);
    return static_cast<adios2::plugin::PluginEngineInterface*>(new CorePlugin(
        *static_cast<core::IO*>(io), name, static_cast<adios2::Mode>(mode), std::move(given), handed_over));
}

} // namespace stepstore::adios

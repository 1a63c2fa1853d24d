// An engine plugin that stores nothing and takes every Put with a Span.
#include <adios2/plugin/PluginEngineInterface.h>

namespace {

class Probe final : public adios2::plugin::PluginEngineInterface {
public:
    using PluginEngineInterface::PluginEngineInterface;
    adios2::StepStatus BeginStep(adios2::StepMode, const float) override { return adios2::StepStatus::OK; }
    void EndStep() override {}
    std::size_t CurrentStep() const override { return 0; }
};

} // namespace

extern "C" {

__attribute__((visibility("default"))) adios2::plugin::PluginEngineInterface*
EngineCreate(adios2::IO io, const std::string& name, const adios2::Mode mode)
{
    return new Probe(io, name, mode);
}

__attribute__((visibility("default"))) void EngineDestroy(adios2::plugin::PluginEngineInterface* engine)
{
    delete engine;
}
}

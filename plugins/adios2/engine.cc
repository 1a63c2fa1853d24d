// The plugin engine: ADIOS2's plugin interface (version 2), forwarded to the writing or reading adapter.
#include "core_engine.h"
#include "opened.h"
#include "plugin_api.h"
#include "stepstore/export.h"

namespace stepstore::adios {
namespace {

constexpr const char* no_spans =
    "stepstore: this engine does not support Put with a Span: put from the program's memory";

std::string group_key(const Parameters& parameters, adios2::Mode mode)
{
    const char* how = mode == adios2::Mode::Write    ? "writing"
                      : mode == adios2::Mode::Append ? "appending"
                                                     : "reading";
    return "opening '" + parameters.location + "' for " + how;
}

class Engine final : public adios2::plugin::PluginEngineInterface {
public:
    Engine(adios2::IO io, const std::string& name, adios2::Mode mode, TakeHandedOver take_handed_over)
        : PluginEngineInterface(io, name, mode), opened_(open(io, mode, take_handed_over))
    {
    }

    adios2::StepStatus BeginStep(adios2::StepMode mode, const float timeout_seconds) override
    {
        return opened_.begin_step(mode, timeout_seconds);
    }
    void EndStep() override { opened_.end_step(); }
    std::size_t CurrentStep() const override { return opened_.current_step(); }
    void PerformPuts() override { writer().perform_puts(); }
    void PerformGets() override { reader().perform_gets(); }
    std::size_t Steps() const override { return opened_.steps(); }
    adios2::MinVarInfo* MinBlocksInfo(const std::string& name, const std::size_t step) const override
    {
        return opened_.writing() ? nullptr : reader().blocks_info(name, step);
    }
    void DoClose(const int) override { opened_.close(); }

#define forward(T)                                                                                           \
    void DoPutSync(adios2::Variable<T> variable, const T* values) override                                   \
    {                                                                                                        \
        writer().put(variable, values, steps::Mode::sync);                                                   \
    }                                                                                                        \
    void DoPutDeferred(adios2::Variable<T> variable, const T* values) override                               \
    {                                                                                                        \
        writer().put(variable, values, steps::Mode::deferred);                                               \
    }                                                                                                        \
    void DoGetSync(adios2::Variable<T> variable, T* values) override                                         \
    {                                                                                                        \
        reader().get(variable, values, steps::Mode::sync);                                                   \
    }                                                                                                        \
    void DoGetDeferred(adios2::Variable<T> variable, T* values) override                                     \
    {                                                                                                        \
        reader().get(variable, values, steps::Mode::deferred);                                               \
    }                                                                                                        \
    void DoGetSync(adios2::Variable<T> variable, T* values, const adios2::core::Selection& selection)        \
        override                                                                                             \
    {                                                                                                        \
        reader().get(variable, values, selection, steps::Mode::sync);                                        \
    }                                                                                                        \
    void DoGetDeferred(adios2::Variable<T> variable, T* values, const adios2::core::Selection& selection)    \
        override                                                                                             \
    {                                                                                                        \
        reader().get(variable, values, selection, steps::Mode::deferred);                                    \
    }
    ADIOS2_FOREACH_STDTYPE_1ARG(forward)
#undef forward

#define refuse_span(T)                                                                                       \
    void DoPut(adios2::Variable<T>, typename adios2::Variable<T>::Span&, const bool, const T&) override      \
    {                                                                                                        \
        throw Error(-DER_NOTSUPPORTED, no_spans);                                                            \
    }
    ADIOS2_FOREACH_PRIMITIVE_STDTYPE_1ARG(refuse_span)
#undef refuse_span

private:
    static Opened open(adios2::IO io, adios2::Mode mode, TakeHandedOver take_handed_over)
    {
        const auto parameters = parse_parameters(io.Parameters());
        if (!Opened::writes(mode) && mode != adios2::Mode::Read && mode != adios2::Mode::ReadRandomAccess)
            throw Error(
                -DER_NOTSUPPORTED,
                "stepstore: '" + parameters.location +
                    "' was opened in a mode that this engine does not have (Sync ...): use Mode::Write, "
                    "Mode::Append, Mode::Read or Mode::ReadRandomAccess");
        auto communicator = take_handed_over(parameters.location);
        if (!communicator)
            communicator =
                form_group(group_key(parameters, mode), parameters.group, parameters.group_timeout);
        return {io, parameters, mode, communicator, nullptr};
    }
    WriteAdapter& writer() const { return opened_.writer(); }
    ReadAdapter& reader() const { return opened_.reader(); }

    Opened opened_;
};

adios2::plugin::PluginEngineInterface* create(adios2::IO io, const std::string& name, adios2::Mode mode,
                                              TakeHandedOver handed_over)
{
    return new Engine(io, name, mode, handed_over);
}

void destroy(adios2::plugin::PluginEngineInterface* engine)
{
    delete engine;
}

} // namespace
} // namespace stepstore::adios

extern "C" STEPSTORE_API const stepstore::PluginEngineApi* stepstore_adios2_engine(int version)
{
    static const stepstore::PluginEngineApi api = {stepstore::adios::create, stepstore::adios::destroy,
                                                   stepstore::adios::register_native};
    return version == stepstore::plugin_engine_version ? &api : nullptr;
}

// The plugin engine: ADIOS2's plugin interface (version 2), forwarded to the writing or reading adapter.
#include "parameters.h"
#include "plugin_api.h"
#include "read.h"
#include "stepstore/export.h"
#include "write.h"

#include <variant>

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
        : PluginEngineInterface(io, name, mode)
    {
        auto parameters = parse_parameters(io.Parameters());
        const bool writes = mode == adios2::Mode::Write || mode == adios2::Mode::Append;
        if (!writes && mode != adios2::Mode::Read && mode != adios2::Mode::ReadRandomAccess)
            throw Error(
                -DER_NOTSUPPORTED,
                "stepstore: '" + parameters.location +
                    "' was opened in a mode that this engine does not have (Sync ...): use Mode::Write, "
                    "Mode::Append, Mode::Read or Mode::ReadRandomAccess");
        auto communicator = take_handed_over(parameters.location);
        if (!communicator)
            communicator =
                form_group(group_key(parameters, mode), parameters.group, parameters.group_timeout);
        parameters.writer.append = mode == adios2::Mode::Append;
        if (writes)
            adapter_ = std::make_unique<WriteAdapter>(io, parameters, communicator);
        else
            adapter_ = std::make_unique<ReadAdapter>(io, parameters, communicator);
    }

    adios2::StepStatus BeginStep(adios2::StepMode mode, const float timeout_seconds) override
    {
        if (writing()) return writer().begin_step(mode);
        return reader().begin_step(mode, timeout_seconds);
    }
    void EndStep() override
    {
        if (writing())
            writer().end_step();
        else
            reader().end_step();
    }
    std::size_t CurrentStep() const override
    {
        return writing() ? writer().current_step() : reader().current_step();
    }
    void PerformPuts() override { writer().perform_puts(); }
    void PerformGets() override { reader().perform_gets(); }
    std::size_t Steps() const override { return writing() ? writer().current_step() : reader().steps(); }
    adios2::MinVarInfo* MinBlocksInfo(const std::string& name, const std::size_t step) const override
    {
        return writing() ? nullptr : reader().blocks_info(name, step);
    }
    void DoClose(const int) override
    {
        if (writing())
            writer().close();
        else
            reader().close();
    }

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
    bool writing() const { return std::holds_alternative<std::unique_ptr<WriteAdapter>>(adapter_); }
    WriteAdapter& writer() const
    {
        if (!writing()) throw Error(-DER_INVAL, "stepstore: Put on an engine that was opened for reading");
        return *std::get<std::unique_ptr<WriteAdapter>>(adapter_);
    }
    ReadAdapter& reader() const
    {
        if (writing()) throw Error(-DER_INVAL, "stepstore: Get on an engine that was opened for writing");
        return *std::get<std::unique_ptr<ReadAdapter>>(adapter_);
    }

    std::variant<std::unique_ptr<WriteAdapter>, std::unique_ptr<ReadAdapter>> adapter_;
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
    static const stepstore::PluginEngineApi api = {stepstore::adios::create, stepstore::adios::destroy};
    return version == stepstore::plugin_engine_version ? &api : nullptr;
}

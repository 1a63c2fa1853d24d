// The plugin engine: ADIOS2's plugin interface (version 2), forwarded to the writing or reading adapter.
#include "adios_errors.h"
#include "core_engine.h"
#include "engine_door.h"
#include "group.h"
#include "plugin_host.h"

#include <iostream>
#include <mutex>

namespace stepstore::adios {
namespace {

constexpr const char* no_spans =
    "stepstore: there is no Put with a Span here, put from the program's memory: ";
constexpr const char* other_communicator =
    "ADIOS2 does not tell a plugin in time which communicator was given to Open: use the engine type "
    "Stepstore, which is told. Or set the parameter Communicator=self if each rank opens a stream of its "
    "own, or give the communicator with stepstore_adios2_set_communicator()";

// What the plugin does without, once.
void say_what_is_missing(const Communicator& group)
{
    static std::once_flag said;
    if (group.rank() != 0 || misfit().empty()) return;
    std::call_once(said, [] {
        std::cerr
            << "stepstore: there are no spans, operators, Variable::Steps(), Min() and Max() here, and the "
               "ranks find each other without ADIOS2's communicator: "
            << misfit() << " (docs/adios2.md)\n";
    });
}

class Engine final : public adios2::plugin::PluginEngineInterface {
public:
    Engine(adios2::IO io, const std::string& name, adios2::Mode mode, TakeHandedOver take_handed_over)
        : PluginEngineInterface(io, name, mode), host_(make_plugin_host(io, name, mode, opened_)),
          opened_(translated([&] { return open(take_handed_over); }))
    {
        note_absolute_steps();
    }

    adios2::StepStatus BeginStep(adios2::StepMode mode, const float timeout_seconds) override
    {
        return translated([&] {
            if (group_) check_group();
            return opened_.begin_step(mode, timeout_seconds);
        });
    }
    void EndStep() override
    {
        translated([&] { opened_.end_step(); });
        if (host_) host_->forget_spans();
    }
    std::size_t CurrentStep() const override
    {
        if (host_) host_->here_i_am();
        return opened_.current_step();
    }
    void PerformPuts() override
    {
        translated([&] { writer().perform_puts(); });
    }
    void PerformGets() override
    {
        translated([&] { reader().perform_gets(); });
    }
    std::size_t Steps() const override
    {
        return translated([&] { return opened_.steps(); });
    }
    adios2::MinVarInfo* MinBlocksInfo(const std::string& name, const std::size_t step) const override
    {
        if (opened_.writing()) return nullptr;
        return translated([&] {
            reader().refuse_blocks_of_steps(name);
            return reader().blocks_info(name, step);
        });
    }
    void DoClose(const int) override
    {
        translated([&] { opened_.close(); });
        if (host_) host_->forget_spans();
    }

#define forward(T)                                                                                           \
    void DoPutSync(adios2::Variable<T> variable, const T* values) override                                   \
    {                                                                                                        \
        put(variable, values, steps::Mode::sync);                                                            \
    }                                                                                                        \
    void DoPutDeferred(adios2::Variable<T> variable, const T* values) override                               \
    {                                                                                                        \
        put(variable, values, steps::Mode::deferred);                                                        \
    }                                                                                                        \
    void DoGetSync(adios2::Variable<T> variable, T* values) override                                         \
    {                                                                                                        \
        get(variable, values, steps::Mode::sync);                                                            \
    }                                                                                                        \
    void DoGetDeferred(adios2::Variable<T> variable, T* values) override                                     \
    {                                                                                                        \
        get(variable, values, steps::Mode::deferred);                                                        \
    }                                                                                                        \
    void DoGetSync(adios2::Variable<T> variable, T* values, const Selection& selection) override             \
    {                                                                                                        \
        get(variable, values, selection, steps::Mode::sync);                                                 \
    }                                                                                                        \
    void DoGetDeferred(adios2::Variable<T> variable, T* values, const Selection& selection) override         \
    {                                                                                                        \
        get(variable, values, selection, steps::Mode::deferred);                                             \
    }
    ADIOS2_FOREACH_STDTYPE_1ARG(forward)
#undef forward

#define span(T)                                                                                              \
    void DoPut(adios2::Variable<T> variable, adios2::Variable<T>::Span& span, const bool initialize,         \
               const T& value) override                                                                      \
    {                                                                                                        \
        put_span(variable, span, initialize, value);                                                         \
    }
    ADIOS2_FOREACH_PRIMITIVE_STDTYPE_1ARG(span)
#undef span

private:
    StreamAdapter open(TakeHandedOver take_handed_over)
    {
        Opening opening;
        if (host_) opening.order = host_->order();
        parameters_ = parse_parameters(m_IO.Parameters(), opening);
        const auto group = find_group(parameters_, m_OpenMode, take_handed_over,
                                      [this](const std::string& key) { return told_group(key); });
        if (host_ && parameters_.group == GroupChoice::automatic && !group.handed_over) group_ = group.ranks;
        say_what_is_missing(*group.ranks);
        return open(group.ranks);
    }
    StreamAdapter open(const std::shared_ptr<Communicator>& group) const
    {
        return {m_IO, parameters_, m_OpenMode, group, host_ ? host_->engine() : nullptr};
    }
    std::shared_ptr<Communicator> told_group(const std::string& key) const
    {
        try {
            return host_ ? host_->group(key, parameters_.group_timeout) : nullptr;
        } catch (const Error& error) {
            if (-error.code() != DER_TIMEDOUT) throw;
            throw Error(error.code(), std::string(error.what()) + ". " + other_communicator);
        }
    }
    void note_absolute_steps()
    {
        if (host_ && !opened_.writing() && opened_.reader().at_random()) host_->note_absolute_steps();
    }
    // At the first call: ADIOS2 does not say in time that Open was given a communicator.
    void check_group()
    {
        if (!host_->opened_on_other_than(*group_)) {
            group_.reset();
            return;
        }
        if (opened_.writing())
            throw Error(-DER_INVAL,
                        "stepstore: '" + parameters_.location + "' was opened by the " +
                            std::to_string(group_->size()) +
                            " ranks of the ADIOS object's communicator that open it, but Open was "
                            "given another one. " +
                            other_communicator);
        opened_ = open(host_->given_to_open());
        note_absolute_steps();
        group_.reset();
    }

    template <class T>
    void put(adios2::Variable<T>& variable, const T* values, steps::Mode mode)
    {
        translated([&] {
            if (group_) check_group();
            writer().put(variable, values, mode);
        });
    }
    template <class T>
    void put_span(adios2::Variable<T>& variable, adios2::Variable<T>::Span& span, bool initialize,
                  const T& value)
    {
        translated([&] {
            if (!host_) throw Error(-DER_NOTSUPPORTED, std::string(no_spans) + misfit());
            if (group_) check_group();
        });
        host_->put_span(variable, span, initialize, value);
    }
    template <class T, class... How>
    void get(adios2::Variable<T>& variable, T* values, const How&... how)
    {
        translated([&] { reader().get(variable, values, how...); });
    }
    WriteAdapter& writer() const { return opened_.writer(); }
    ReadAdapter& reader() const { return opened_.reader(); }

    Parameters parameters_;
    std::shared_ptr<Communicator> group_; // until it is known to be the right one
    std::unique_ptr<PluginHost> host_;
    StreamAdapter opened_;
};

} // namespace

void* create_plugin(void* io, const std::string& name, int mode, void*, TakeHandedOver handed_over)
{
    static_assert(sizeof(adios2::IO) == sizeof io); // all that it holds
    return static_cast<adios2::plugin::PluginEngineInterface*>(
        new Engine(std::bit_cast<adios2::IO>(io), name, static_cast<adios2::Mode>(mode), handed_over));
}

} // namespace stepstore::adios

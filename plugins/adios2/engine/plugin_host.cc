#include "plugin_host.h"

#include "core_engine.h"
#include "introspection.h"

#include <adios2/core/ADIOS.h>
#include <adios2/helper/adiosCommDummy.h>

namespace stepstore::adios {
namespace {

namespace core = adios2::core;

class Host final : public PluginHost {
public:
    Host(core::IO& io, const std::string& name, adios2::Mode mode, const StreamAdapter& opened)
        : io_(io), engine_("Stepstore", io, name, mode, adios2::helper::CommDummy(), opened)
    {
    }

    core::Engine* engine() override { return &engine_; }
    steps::Order order() const override { return order_of(io_); }
    std::shared_ptr<Communicator> group(const std::string& key, double timeout_seconds) override
    {
        const auto& all = io_.m_ADIOS.GetComm();
        return all.IsMPI() ? group_within(all, key, timeout_seconds) : nullptr;
    }

    void here_i_am() override { found_ = true; }
    bool opened_on_other_than(const Communicator& group) override
    {
        const auto* given = communicator_of_engine();
        if (given == nullptr || !given->IsMPI()) return false;
        const auto same = [&](int rank, int size) { return given->Rank() == rank && given->Size() == size; };
        const auto& all = io_.m_ADIOS.GetComm();
        return !same(group.rank(), group.size()) && !(all.IsMPI() && same(all.Rank(), all.Size()));
    }
    std::shared_ptr<Communicator> given_to_open() override { return group_of(*communicator_of_engine()); }

#define put_span(T)                                                                                          \
    void put_span(adios2::Variable<T>& variable, adios2::Variable<T>::Span& span, bool initialize,           \
                  const T& value) override                                                                   \
    {                                                                                                        \
        static_assert(sizeof span == sizeof(core::Span<T>*)); /* all that it holds */                        \
        engine_.put_span(*std::bit_cast<core::Variable<T>*>(variable),                                       \
                         **reinterpret_cast<core::Span<T>**>(&span), initialize, value);                     \
    }
    ADIOS2_FOREACH_PRIMITIVE_STDTYPE_1ARG(put_span)
#undef put_span
    void note_absolute_steps() override { engine_.note_absolute_steps(); }
    void forget_spans() override { engine_.forget_spans(); }

private:
    struct Reach : core::Engine { // for a name that is protected
        static constexpr auto communicator = &Reach::m_Comm;
    };
    // Of the engine that ADIOS2 has made for the plugin; null: it is not in the IO (any more).
    const adios2::helper::Comm* communicator_of_engine()
    {
        for (const auto& [name, engine] : io_.GetEngines()) {
            if (engine->m_EngineType != "Plugin" || !*engine) continue;
            found_ = false;
            static_cast<void>(engine->CurrentStep());
            if (found_) return &((*engine).*Reach::communicator);
        }
        return nullptr;
    }

    core::IO& io_;
    Introspection engine_;
    bool found_ = false;
};

} // namespace

std::unique_ptr<PluginHost> make_plugin_host(adios2::IO io, const std::string& name, adios2::Mode mode,
                                             const StreamAdapter& opened)
{
    if (!misfit().empty()) return nullptr;
    return std::make_unique<Host>(core_of(io), name, mode, opened);
}

} // namespace stepstore::adios

#include "core_engine.h"

#include "default_reader.h"
#include "group.h"
#include "introspection.h"

#include <iostream>
#include <utility>

namespace stepstore::adios {
namespace {

namespace core = adios2::core;

TakeHandedOver take_handed_over = nullptr; // set before there is an engine

// What the core says of an opening, besides IO, name, mode and communicator.
enum class Way : std::uint8_t {
    named,    // the program has named the engine
    found,    // it has named none: ADIOS2 then hides Mode::ReadRandomAccess
    metadata, // with metadata in memory: by one process alone
};

Parameters parameters_of(core::IO& io, const std::string& name, adios2::Mode mode, Way way)
{
    Opening opening;
    opening.name = name;
    opening.order = order_of(io);
    opening.reading = mode == adios2::Mode::ReadRandomAccess ? Reading::random
                      : way == Way::found                    ? Reading::automatic
                                                             : Reading::stream;
    auto parameters = parse_parameters(io.m_Parameters, opening);
    if (way == Way::metadata) parameters.group = GroupChoice::self;
    return parameters;
}

class CoreEngine final : public Introspection {
public:
    CoreEngine(core::IO& io, const std::string& name, adios2::Mode mode, adios2::helper::Comm comm, Way way)
        : Introspection("Stepstore", io, name, mode, std::move(comm), opened_),
          opened_(translated([&] { return open(way); }))
    {
        m_IsOpen = true;
        if (opened_.writing()) opened_.writer().attributes().listen();
    }

    adios2::StepStatus BeginStep(adios2::StepMode mode, const float timeout_seconds) override
    {
        const auto status = translated([&] { return opened_.begin_step(mode, timeout_seconds); });
        m_BetweenStepPairs = status == adios2::StepStatus::OK;
        return status;
    }
    void EndStep() override
    {
        translated([&] { opened_.end_step(); });
        m_BetweenStepPairs = false;
        forget_spans();
    }
    void PerformPuts() override
    {
        translated([&] { opened_.writer().perform_puts(); });
    }
    void PerformGets() override
    {
        translated([&] { opened_.reader().perform_gets(); });
    }
    void PerformDataWrite() override { PerformPuts(); }
    void Flush(const int) override
    {
        if (opened_.writing()) PerformPuts();
    }

    void NotifyEngineAttribute(std::string name, adios2::DataType) noexcept override
    {
        if (opened_.writing()) opened_.writer().attributes().changed(std::move(name));
    }

    // InquireVariable of an IO without variables, which must not throw there.
    void NotifyEngineNoVarsQuery() override
    {
        if (!m_IsOpen || opened_.writing() || opened_.reader().has_step() || std::exchange(told_, true))
            return;
        std::cerr << "stepstore: InquireVariable finds nothing in the stream " << m_Name
                  << ", because no step is open: call it between BeginStep and EndStep, or open the stream "
                     "with Mode::ReadRandomAccess\n";
    }

    // Metadata in memory is the name: what it stands for is read when the stream is opened with it.
    void GetMetadata(char** metadata, std::size_t* size) override
    {
        *size = m_Name.size() + 1;
        *metadata = static_cast<char*>(std::malloc(*size));
        if (*metadata == nullptr) throw std::bad_alloc();
        std::memcpy(*metadata, m_Name.c_str(), *size);
    }

protected:
#define span(T)                                                                                              \
    void DoPut(core::Variable<T>& variable, core::Span<T>& room, const bool initialize, const T& value)      \
        override                                                                                             \
    {                                                                                                        \
        put_span(variable, room, initialize, value);                                                         \
    }
    ADIOS2_FOREACH_PRIMITIVE_STDTYPE_1ARG(span)
#undef span

#define forward(T)                                                                                           \
    void DoPutSync(core::Variable<T>& variable, const T* values) override                                    \
    {                                                                                                        \
        put(variable, values, steps::Mode::sync);                                                            \
    }                                                                                                        \
    void DoPutDeferred(core::Variable<T>& variable, const T* values) override                                \
    {                                                                                                        \
        put(variable, values, steps::Mode::deferred);                                                        \
    }                                                                                                        \
    void DoGetSync(core::Variable<T>& variable, T* values) override                                          \
    {                                                                                                        \
        get(variable, values, steps::Mode::sync);                                                            \
    }                                                                                                        \
    void DoGetDeferred(core::Variable<T>& variable, T* values) override                                      \
    {                                                                                                        \
        get(variable, values, steps::Mode::deferred);                                                        \
    }                                                                                                        \
    void DoGetSync(core::Variable<T>& variable, T* values, const core::Selection& selection) override        \
    {                                                                                                        \
        get(variable, values, selection, steps::Mode::sync);                                                 \
    }                                                                                                        \
    void DoGetDeferred(core::Variable<T>& variable, T* values, const core::Selection& selection) override    \
    {                                                                                                        \
        get(variable, values, selection, steps::Mode::deferred);                                             \
    }
    ADIOS2_FOREACH_STDTYPE_1ARG(forward)
#undef forward

    void DoPutStructSync(core::VariableStruct& variable, const void* values) override
    {
        translated([&] { opened_.writer().put(variable, values, steps::Mode::sync); });
    }
    void DoPutStructDeferred(core::VariableStruct& variable, const void* values) override
    {
        translated([&] { opened_.writer().put(variable, values, steps::Mode::deferred); });
    }
    void DoGetStructSync(core::VariableStruct& variable, void* values) override
    {
        translated([&] { opened_.reader().get(variable, values, steps::Mode::sync); });
    }
    void DoGetStructDeferred(core::VariableStruct& variable, void* values) override
    {
        translated([&] { opened_.reader().get(variable, values, steps::Mode::deferred); });
    }

    void DoClose(const int) override
    {
        translated([&] { opened_.close(); });
        forget_spans();
    }

private:
    StreamAdapter open(Way way)
    {
        const auto parameters = parameters_of(m_IO, m_Name, m_OpenMode, way);
        const auto group = find_group(parameters, m_OpenMode, take_handed_over, [this](const std::string&) {
            return m_Comm.IsMPI() ? group_of(m_Comm) : nullptr;
        });
        return {handle_of(m_IO), parameters, m_OpenMode, group.ranks, this};
    }

    template <class T>
    void put(core::Variable<T>& variable, const T* values, steps::Mode mode)
    {
        translated([&] {
            auto handle = handle_of(variable);
            opened_.writer().put(handle, values, mode);
        });
    }
    template <class T, class... How>
    void get(core::Variable<T>& variable, T* values, const How&... how)
    {
        translated([&] {
            auto handle = handle_of(variable);
            opened_.reader().get(handle, values, how...);
        });
    }

    StreamAdapter opened_;
    bool told_ = false; // that no step is open
};

template <Way way>
std::shared_ptr<core::Engine> make(core::IO& io, const std::string& name, adios2::Mode mode,
                                   adios2::helper::Comm comm)
{
    return std::make_shared<CoreEngine>(io, name, mode, std::move(comm), way);
}

} // namespace

void register_native(TakeHandedOver handed_over, bool by_default)
{
    if (!misfit().empty())
        throw Error(-DER_NOSYS, misfit() + ". Use the engine type Plugin (docs/adios2.md)");
    take_handed_over = handed_over;
    core::IO::RegisterEngine("stepstore", {make<Way::named>, make<Way::named>,
                                           [](core::IO& io, const std::string& name, const adios2::Mode mode,
                                              adios2::helper::Comm comm, const char*, const std::size_t) {
                                               return make<Way::metadata>(io, name, mode, std::move(comm));
                                           }});
    if (by_default) read_pools_by_default(make<Way::found>);
}

} // namespace stepstore::adios

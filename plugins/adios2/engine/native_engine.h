// The native engine: an engine of ADIOS2's core, in front of the stream.
// Threads: one at a time, as all of an ADIOS2 engine; several with a GetContext each. Errors: as users of
// ADIOS2 catch them (adios_errors.h).
#pragma once

#include "group.h"
#include "introspection.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <utility>

namespace stepstore::adios {

// What the core says of an opening, besides IO, name, mode and communicator.
enum class Way : std::uint8_t {
    named,    // the program has named the engine
    found,    // it has named none: ADIOS2 then hides Mode::ReadRandomAccess
    metadata, // with metadata in memory: by one process alone
    plugin,   // as a plugin: the name is the plugin's, not the stream's
};

class NativeEngine final : public Introspection {
public:
    NativeEngine(adios2::core::IO& io, const std::string& name, adios2::Mode mode, adios2::helper::Comm comm,
                 Way way, TakeHandedOver take_handed_over)
        : Introspection("Stepstore", io, name, mode, std::move(comm), opened_),
          opened_(translated([&] { return open(way, take_handed_over); }))
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
        reading([](auto& reader) { reader.perform_gets(); });
    }
    void PerformDataWrite() override
    {
        translated([&] { opened_.writer().write_puts(); });
    }
    void Flush(const int) override
    {
        if (opened_.writing()) PerformDataWrite();
    }

    void NotifyEngineAttribute(std::string name, adios2::DataType) noexcept override
    {
        if (opened_.writing()) opened_.writer().attributes().changed(std::move(name));
    }

    // InquireVariable of an IO without variables, which must not throw there.
    void NotifyEngineNoVarsQuery() override
    {
        if (!m_IsOpen || opened_.writing() || opened_.reader().in_step() || std::exchange(told_, true))
            return;
        std::cerr << "stepstore: InquireVariable finds nothing in the stream " << m_Name
                  << ", because no step is open: call it between BeginStep and EndStep, or open the stream "
                     "with Mode::ReadRandomAccess\n";
    }

    // Metadata in memory is the name: what it stands for is read when the stream is opened with it.
    void GetMetadata(char** metadata, std::size_t* size) STEPSTORE_ADIOS2_SINCE_2_11(override)
    {
        *size = m_Name.size() + 1;
        *metadata = static_cast<char*>(std::malloc(*size));
        if (*metadata == nullptr) throw std::bad_alloc();
        std::memcpy(*metadata, m_Name.c_str(), *size);
    }

    // Public, since a plugin of ADIOS2 before 2.12 forwards to them.
#define span(T)                                                                                              \
    void DoPut(adios2::core::Variable<T>& variable, adios2::core::Span<T>& room, const bool initialize,      \
               const T& value) override                                                                      \
    {                                                                                                        \
        put_span(variable, room, initialize, value);                                                         \
    }
    ADIOS2_FOREACH_PRIMITIVE_STDTYPE_1ARG(span)
#undef span

#define forward(T)                                                                                           \
    void DoPutSync(adios2::core::Variable<T>& variable, const T* values) override                            \
    {                                                                                                        \
        put(variable, values, steps::Mode::sync);                                                            \
    }                                                                                                        \
    void DoPutDeferred(adios2::core::Variable<T>& variable, const T* values) override                        \
    {                                                                                                        \
        put(variable, values, steps::Mode::deferred);                                                        \
    }                                                                                                        \
    void DoGetSync(adios2::core::Variable<T>& variable, T* values) override                                  \
    {                                                                                                        \
        get(variable, values, steps::Mode::sync);                                                            \
    }                                                                                                        \
    void DoGetDeferred(adios2::core::Variable<T>& variable, T* values) override                              \
    {                                                                                                        \
        get(variable, values, steps::Mode::deferred);                                                        \
    }
    ADIOS2_FOREACH_STDTYPE_1ARG(forward)
#undef forward

#ifdef STEPSTORE_ADIOS2_SELECTIONS
#define forward(T)                                                                                           \
    void DoGetSync(adios2::core::Variable<T>& variable, T* values, const Selection& selection) override      \
    {                                                                                                        \
        get(variable, values, selection, steps::Mode::sync);                                                 \
    }                                                                                                        \
    void DoGetDeferred(adios2::core::Variable<T>& variable, T* values, const Selection& selection) override  \
    {                                                                                                        \
        get(variable, values, selection, steps::Mode::deferred);                                             \
    }
    ADIOS2_FOREACH_STDTYPE_1ARG(forward)
#undef forward
#endif

#ifdef STEPSTORE_ADIOS2_GET_CONTEXTS
    // As BP5: at random only, where no step comes and goes.
    std::unique_ptr<adios2::core::GetContext> NewGetContext() override
    {
        if (opened_.writing() || m_OpenMode != adios2::Mode::ReadRandomAccess) return nullptr;
        return translated([&] { return std::make_unique<Context>(opened_.reader().new_context()); });
    }
    void PerformGets(adios2::core::GetContext& context) override
    {
        translated([&] { opened_.reader().perform_gets(own(context)); });
    }
    void DoGetContextDeferred(adios2::core::GetContext& context, adios2::core::VariableBase& variable,
                              void* values, const Selection& selection) override
    {
#define forward(T)                                                                                           \
    if (variable.m_Type == adios2::helper::GetDataType<T>())                                                 \
        return get_in(context, static_cast<adios2::core::Variable<T>&>(variable), static_cast<T*>(values),   \
                      selection);
        ADIOS2_FOREACH_STDTYPE_1ARG(forward)
#undef forward
        throw std::invalid_argument("stepstore: variable '" + variable.m_Name +
                                    "' is of a type that a GetContext does not read");
    }
#endif

    void DoPutStructSync(adios2::core::VariableStruct& variable, const void* values) override
    {
        translated([&] { opened_.writer().put(variable, values, steps::Mode::sync); });
    }
    void DoPutStructDeferred(adios2::core::VariableStruct& variable, const void* values) override
    {
        translated([&] { opened_.writer().put(variable, values, steps::Mode::deferred); });
    }
    void DoGetStructSync(adios2::core::VariableStruct& variable, void* values) override
    {
        reading([&](auto& reader) { reader.get(variable, values, steps::Mode::sync); });
    }
    void DoGetStructDeferred(adios2::core::VariableStruct& variable, void* values) override
    {
        reading([&](auto& reader) { reader.get(variable, values, steps::Mode::deferred); });
    }

    void DoClose(const int) override
    {
        translated([&] { opened_.close(); });
        forget_spans();
    }

private:
#ifdef STEPSTORE_ADIOS2_GET_CONTEXTS
    struct Context final : adios2::core::GetContext {
        explicit Context(std::unique_ptr<ReadAdapter::Context> made) : gets(std::move(made)) {}
        std::unique_ptr<ReadAdapter::Context> gets;
    };
    static ReadAdapter::Context& own(adios2::core::GetContext& context)
    {
        auto* known = dynamic_cast<Context*>(&context);
        if (known == nullptr)
            throw Error(-DER_INVAL, "stepstore: a GetContext of another engine was used: make one with "
                                    "NewGetContext of this engine");
        return *known->gets;
    }
    template <class T>
    void get_in(adios2::core::GetContext& context, adios2::core::Variable<T>& variable, T* values,
                const Selection& selection)
    {
        translated([&] {
            auto handle = handle_of(variable);
            opened_.reader().get(own(context), handle, values, selection);
        });
    }
#endif

    Parameters parameters_for(Way way) const
    {
        Opening opening;
        if (way != Way::plugin) opening.name = m_Name;
        opening.order = order_of(m_IO);
        opening.reading = m_OpenMode == adios2::Mode::ReadRandomAccess ? Reading::random
                          : way == Way::found || way == Way::plugin    ? Reading::automatic
                                                                       : Reading::stream;
        auto parameters = parse_parameters(m_IO.m_Parameters, opening);
        if (way == Way::metadata) parameters.group = GroupChoice::self;
        return parameters;
    }
    StreamAdapter open(Way way, TakeHandedOver take_handed_over)
    {
        const auto parameters = parameters_for(way);
        const auto group = find_group(parameters, m_OpenMode, take_handed_over, [this](const std::string&) {
            return m_Comm.IsMPI() ? group_of(m_Comm) : nullptr;
        });
        return {handle_of(m_IO), parameters, m_OpenMode, group.ranks, this};
    }

    template <class T>
    void put(adios2::core::Variable<T>& variable, const T* values, steps::Mode mode)
    {
        translated([&] {
            auto handle = handle_of(variable);
            opened_.writer().put(handle, values, mode);
        });
    }
    template <class T, class... How>
    void get(adios2::core::Variable<T>& variable, T* values, const How&... how)
    {
        reading([&](auto& reader) {
            auto handle = handle_of(variable);
            reader.get(handle, values, how...);
        });
    }

    StreamAdapter opened_;
    bool told_ = false; // that no step is open
};

} // namespace stepstore::adios

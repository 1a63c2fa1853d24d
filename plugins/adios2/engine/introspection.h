// What ADIOS2's core asks an engine about a stream: steps, shapes, extremes, blocks, the memory of spans. The
// native engine is one of these. The plugin has one that is in no IO, and makes it the variables' engine.
// Only where the core can be used (misfit()).
// Threads: that of the engine, one at a time; of a reader at random any, in turns. Errors: as users of
// ADIOS2 catch them (adios_errors.h).
#pragma once

#include "adios_errors.h"
#include "stream_adapter.h"

#include <adios2/core/Info.h>
#include <adios2/core/Span.h>

#include <algorithm>
#include <functional>

namespace stepstore::adios {

template <class T>
adios2::Variable<T> handle_of(const adios2::core::Variable<T>& variable)
{
    return std::bit_cast<adios2::Variable<T>>(&variable);
}

inline adios2::IO handle_of(adios2::core::IO& io)
{
    return std::bit_cast<adios2::IO>(&io);
}

inline steps::Order order_of(const adios2::core::IO& io)
{
    return io.m_ArrayOrder == adios2::ArrayOrdering::RowMajor ? steps::Order::row_major
                                                              : steps::Order::column_major;
}

// The ranks of an ADIOS2 communicator. Collective over it.
std::shared_ptr<Communicator> group_of(const adios2::helper::Comm& communicator);
// Those of them that open the same. Collective, until the time-out.
std::shared_ptr<Communicator> group_within(const adios2::helper::Comm& communicator, const std::string& key,
                                           double timeout_seconds);

class Introspection : public adios2::core::Engine {
protected:
    // A call of the reader, alone.
    template <class Call>
    auto reading(Call&& call) const
    {
        return translated([&] {
            auto& reader = stream_.reader();
            const auto held = reader.locked();
            return call(reader);
        });
    }

public:
    // opened: must be there when anything is asked.
    Introspection(const std::string& type, adios2::core::IO& io, const std::string& name, adios2::Mode mode,
                  adios2::helper::Comm communicator, const StreamAdapter& opened)
        : Engine(type, io, name, mode, std::move(communicator)), stream_(opened)
    {
    }

    // A span's place in the buffer is its address (DoBufferData). `room` is made one of this engine.
    template <class T>
    void put_span(adios2::core::Variable<T>& variable, adios2::core::Span<T>& room, bool initialize,
                  const T& value)
    {
        const auto bytes = translated([&] {
            auto handle = handle_of(variable);
            return stream_.writer().put_span(handle);
        });
        const auto elements = bytes.size() / sizeof(T);
        std::construct_at(&room, *this, elements);
        room.m_PayloadPosition = reinterpret_cast<std::size_t>(bytes.data());
        if (initialize) std::fill_n(reinterpret_cast<T*>(bytes.data()), elements, value);
        variable.m_BlocksInfo.emplace_back(); // ADIOS2 numbers a step's spans of a variable by these
        forget_spans_.push_back([&io = m_IO, name = variable.m_Name] {
            if (auto* known = io.InquireVariable<T>(name)) {
                known->m_BlocksSpan.clear();
                known->m_BlocksInfo.clear();
            }
        });
    }
    void forget_spans();
    // GetAbsoluteSteps() of an engine of another class looks for the steps in the variable.
    void note_absolute_steps();

    std::size_t CurrentStep() const override { return stream_.current_step(); }
    adios2::MinVarInfo* MinBlocksInfo(const adios2::core::VariableBase& variable,
                                      std::size_t step) const override;
    bool VarShape(const adios2::core::VariableBase& variable, std::size_t step,
                  adios2::Dims& shape) const override;
    bool VariableMinMax(const adios2::core::VariableBase& variable, std::size_t step,
                        adios2::MinMaxStruct& minmax) override;

#ifdef STEPSTORE_ADIOS2_DERIVED
    std::string VariableExprStr(const adios2::core::VariableBase& variable)
        STEPSTORE_ADIOS2_SINCE_2_11(override)
    {
        if (stream_.writing() || !stream_.reader().has_step()) return {};
        return reading([&](auto& reader) { return reader.expression_of(variable.m_Name); });
    }
#endif

protected:
// V: a class of variables; Kind: how ADIOS2 ends the names of their functions.
#define blocks_of_variables(V, Kind)                                                                         \
    std::vector<V::BPInfo> DoBlocksInfo##Kind(const V& variable, const std::size_t step) const override      \
    {                                                                                                        \
        return blocks_of(variable, step);                                                                    \
    }                                                                                                        \
    std::map<std::size_t, std::vector<V::BPInfo>> DoAllStepsBlocksInfo##Kind(const V& variable)              \
        const override                                                                                       \
    {                                                                                                        \
        std::map<std::size_t, std::vector<V::BPInfo>> all;                                                   \
        const auto steps = steps_of(variable);                                                               \
        for (std::size_t step = 0; step < steps.size(); ++step)                                              \
            all.emplace_hint(all.end(), steps[step], blocks_of_step(variable, steps[step], step));           \
        return all;                                                                                          \
    }                                                                                                        \
    std::vector<std::vector<V::BPInfo>> DoAllRelativeStepsBlocksInfo##Kind(const V& variable) const override \
    {                                                                                                        \
        std::vector<std::vector<V::BPInfo>> all;                                                             \
        const auto steps = steps_of(variable);                                                               \
        for (std::size_t step = 0; step < steps.size(); ++step)                                              \
            all.push_back(blocks_of_step(variable, steps[step], step));                                      \
        return all;                                                                                          \
    }
#define blocks(T) blocks_of_variables(adios2::core::Variable<T>, )
    ADIOS2_FOREACH_STDTYPE_1ARG(blocks)
#undef blocks
    blocks_of_variables(adios2::core::VariableStruct, Struct)
#undef blocks_of_variables

#define buffer(T, L)                                                                                         \
    T* DoBufferData_##L(const int, const std::size_t position, const std::size_t) noexcept override          \
    {                                                                                                        \
        return reinterpret_cast<T*>(position);                                                               \
    }
        ADIOS2_FOREACH_PRIMITVE_STDTYPE_2ARGS(buffer)
#undef buffer

            std::size_t DoSteps() const override
    {
        if (stream_.writing()) return stream_.steps();
        return reading([](auto& reader) { return reader.steps(); });
    }
    void DoGetAbsoluteSteps(const adios2::core::VariableBase& variable,
                            std::vector<std::size_t>& keys) const override
    {
        if (stream_.reader().at_random()) keys = steps_of(variable); // else none, as in BP5
    }
    void DoClose(const int) override {}

private:
    std::vector<std::size_t> steps_of(const adios2::core::VariableBase& variable) const
    {
        return reading([&](auto& reader) { return reader.steps_of(variable.m_Name); });
    }
    template <class V>
    std::vector<typename V::BPInfo> blocks_of(const V& variable, std::size_t step) const
    {
        return as_blocks<V>(std::unique_ptr<adios2::MinVarInfo>(MinBlocksInfo(variable, step)));
    }
    // step: as steps_of() gives it, the index-th.
    template <class V>
    std::vector<typename V::BPInfo> blocks_of_step(const V& variable, std::size_t step,
                                                   std::size_t index) const
    {
        if (!stream_.reader().at_random()) return blocks_of(variable, index);
        return as_blocks<V>(reading([&](auto& reader) {
            return std::unique_ptr<adios2::MinVarInfo>(reader.blocks_info_of(variable.m_Name, step, index));
        }));
    }
    template <class V>
    static std::vector<typename V::BPInfo> as_blocks(const std::unique_ptr<adios2::MinVarInfo>& info);

    const StreamAdapter& stream_;
    std::vector<std::function<void()>> forget_spans_;
};

} // namespace stepstore::adios

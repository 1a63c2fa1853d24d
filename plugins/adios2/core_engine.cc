#include "core_engine.h"

#include "daos_errno.h"
#include "stepstore/error.h"

#ifndef STEPSTORE_ADIOS2_CORE

namespace stepstore::adios {

void register_native()
{
    throw Error(
        -DER_NOSYS,
        "this build of Stepstore has no native ADIOS2 engine (the headers of ADIOS2's core were missing "
        "when it was built): use the engine type Plugin (docs/adios2.md)");
}

bool core_fits()
{
    return false;
}

} // namespace stepstore::adios

#else

#include "opened.h"

#include <adios2/core/ADIOS.h>
#include <adios2/core/Info.h>
#include <adios2/core/Span.h>

#include <algorithm>
#include <dlfcn.h>
#include <elf.h>
#include <functional>
#include <ios>
#include <link.h>

namespace stepstore::adios {
namespace {

namespace core = adios2::core;

// ADIOS2's users catch these types.
[[noreturn]] void throw_as_adios(const Error& error)
{
    switch (-error.code()) {
    case DER_INVAL:
    case DER_NONEXIST:
    case DER_NOTSUPPORTED: throw std::invalid_argument(error.what());
    case DER_IO:
    case DER_NOSPACE:
    case DER_CSUM: throw std::ios_base::failure(error.what());
    default: throw;
    }
}

template <class Call>
decltype(auto) translated(Call&& call)
{
    try {
        return call();
    } catch (const Error& error) {
        throw_as_adios(error);
    }
}

template <class T>
adios2::Variable<T> handle_of(const core::Variable<T>& variable)
{
    return std::bit_cast<adios2::Variable<T>>(&variable);
}

adios2::IO handle_of(core::IO& io)
{
    return std::bit_cast<adios2::IO>(&io);
}

// The ranks of an engine. Only ADIOS2's MPI library knows what is in its communicator.
std::shared_ptr<Communicator> group_of(const adios2::helper::Comm& communicator)
{
    if (!communicator.IsMPI()) return self_communicator();
    void* library = dlopen(STEPSTORE_ADIOS2_CORE_MPI_SONAME, RTLD_LAZY | RTLD_NOLOAD);
    // An MPI_Comm is a pointer or an int: what is read of this is as long as the MPI at hand has it.
    using AsMpi = void* (*)(const adios2::helper::Comm&);
    const auto as_mpi = reinterpret_cast<AsMpi>(
        library == nullptr ? nullptr : dlsym(library, "_ZN6adios26helper9CommAsMPIERKNS0_4CommE"));
    if (as_mpi == nullptr)
        throw Error(-DER_NOSYS,
                    "stepstore: " STEPSTORE_ADIOS2_CORE_MPI_SONAME
                    ", which this program's ADIOS2 must have for its communicator, has no function "
                    "CommAsMPI");
    void* mpi_comm = as_mpi(communicator);
    return mpi_communicator(&mpi_comm);
}

Parameters parameters_of(core::IO& io, const std::string& name, adios2::Mode mode)
{
    const bool row_major = io.m_ArrayOrder == adios2::ArrayOrdering::RowMajor;
    Opening opening;
    opening.name = name;
    opening.order = row_major ? steps::Order::row_major : steps::Order::column_major;
    opening.reading = mode == adios2::Mode::ReadRandomAccess ? Reading::random : Reading::stream;
    return parse_parameters(io.m_Parameters, opening);
}

class CoreEngine final : public core::Engine {
public:
    CoreEngine(core::IO& io, const std::string& name, adios2::Mode mode, adios2::helper::Comm comm)
        : Engine("Stepstore", io, name, mode, std::move(comm)), opened_(translated([&] {
              return Opened(handle_of(io), parameters_of(io, name, mode),
                            mode == adios2::Mode::Sync ? adios2::Mode::Write : mode, group_of(m_Comm), this);
          }))
    {
        m_IsOpen = true;
    }

    adios2::StepStatus BeginStep(adios2::StepMode mode, const float timeout_seconds) override
    {
        // Every step that is written is a new one.
        if (opened_.writing() && mode == adios2::StepMode::Update) mode = adios2::StepMode::Append;
        const auto status = translated([&] { return opened_.begin_step(mode, timeout_seconds); });
        m_BetweenStepPairs = status == adios2::StepStatus::OK;
        return status;
    }
    std::size_t CurrentStep() const override { return opened_.current_step(); }
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

    // Metadata in memory is the name: what it stands for is read when the stream is opened with it.
    void GetMetadata(char** metadata, std::size_t* size) override
    {
        *size = m_Name.size() + 1;
        *metadata = static_cast<char*>(std::malloc(*size));
        if (*metadata == nullptr) throw std::bad_alloc();
        std::memcpy(*metadata, m_Name.c_str(), *size);
    }

    adios2::MinVarInfo* MinBlocksInfo(const core::VariableBase& variable,
                                      const std::size_t step) const override
    {
        if (opened_.writing() || !opened_.reader().has_step()) return nullptr;
        return translated([&] { return opened_.reader().blocks_info(variable.m_Name, step); });
    }
    bool VarShape(const core::VariableBase& variable, const std::size_t step,
                  adios2::Dims& shape) const override
    {
        if (opened_.writing() || !opened_.reader().has_step()) return false;
        return translated([&] {
            const bool selected = step == adios2::EngineCurrentStep;
            return opened_.reader().shape_of(variable.m_Name, selected ? variable.m_StepsStart : step, shape);
        });
    }
    bool VariableMinMax(const core::VariableBase& variable, const std::size_t step,
                        adios2::MinMaxStruct& minmax) override
    {
        if (opened_.writing() || !opened_.reader().has_step()) return false;
        return translated([&] { return opened_.reader().minmax_of(variable.m_Name, step, minmax); });
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
    /* Numbers a step's spans of the variable. */                                                            \
    std::size_t PutCount(core::Variable<T>& variable) override                                               \
    {                                                                                                        \
        return variable.m_BlocksSpan.size();                                                                 \
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
    }                                                                                                        \
    std::vector<core::Variable<T>::BPInfo> DoBlocksInfo(const core::Variable<T>& variable,                   \
                                                        const std::size_t step) const override               \
    {                                                                                                        \
        return blocks_of(variable, step);                                                                    \
    }                                                                                                        \
    std::map<std::size_t, std::vector<core::Variable<T>::BPInfo>> DoAllStepsBlocksInfo(                      \
        const core::Variable<T>& variable) const override                                                    \
    {                                                                                                        \
        std::map<std::size_t, std::vector<core::Variable<T>::BPInfo>> all;                                   \
        const auto steps = steps_of(variable);                                                               \
        for (std::size_t step = 0; step < steps.size(); ++step)                                              \
            all[steps[step]] = blocks_of(variable, step);                                                    \
        return all;                                                                                          \
    }                                                                                                        \
    std::vector<std::vector<core::Variable<T>::BPInfo>> DoAllRelativeStepsBlocksInfo(                        \
        const core::Variable<T>& variable) const override                                                    \
    {                                                                                                        \
        std::vector<std::vector<core::Variable<T>::BPInfo>> all;                                             \
        const auto steps = steps_of(variable).size();                                                        \
        for (std::size_t step = 0; step < steps; ++step)                                                     \
            all.push_back(blocks_of(variable, step));                                                        \
        return all;                                                                                          \
    }
    ADIOS2_FOREACH_STDTYPE_1ARG(forward)
#undef forward

#define buffer(T, L)                                                                                         \
    T* DoBufferData_##L(const int, const std::size_t position, const std::size_t) noexcept override          \
    {                                                                                                        \
        return reinterpret_cast<T*>(position);                                                               \
    }
    ADIOS2_FOREACH_PRIMITVE_STDTYPE_2ARGS(buffer)
#undef buffer

    std::size_t DoSteps() const override { return opened_.steps(); }
    void DoGetAbsoluteSteps(const core::VariableBase& variable, std::vector<std::size_t>& keys) const override
    {
        keys = steps_of(variable);
    }
    void DoClose(const int) override
    {
        translated([&] { opened_.close(); });
        forget_spans();
    }

private:
    template <class T>
    void put(core::Variable<T>& variable, const T* values, steps::Mode mode)
    {
        translated([&] {
            auto handle = handle_of(variable);
            opened_.writer().put(handle, values, mode);
        });
    }
    template <class T>
    void put_span(core::Variable<T>& variable, core::Span<T>& room, bool initialize, const T& value)
    {
        const auto bytes = translated([&] {
            auto handle = handle_of(variable);
            return opened_.writer().put_span(handle);
        });
        room.m_PayloadPosition = reinterpret_cast<std::size_t>(bytes.data()); // see DoBufferData
        if (initialize) std::fill_n(reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T), value);
        forget_spans_.push_back([this, name = variable.m_Name] {
            if (auto* known = m_IO.InquireVariable<T>(name)) known->m_BlocksSpan.clear();
        });
    }
    void forget_spans()
    {
        for (const auto& forget : forget_spans_)
            forget();
        forget_spans_.clear();
    }
    template <class T, class... How>
    void get(core::Variable<T>& variable, T* values, const How&... how)
    {
        translated([&] {
            auto handle = handle_of(variable);
            opened_.reader().get(handle, values, how...);
        });
    }
    std::vector<std::size_t> steps_of(const core::VariableBase& variable) const
    {
        return translated([&] { return opened_.reader().steps_of(variable.m_Name); });
    }
    template <class T>
    std::vector<typename core::Variable<T>::BPInfo> blocks_of(const core::Variable<T>& variable,
                                                              std::size_t step) const
    {
        const std::unique_ptr<adios2::MinVarInfo> info(MinBlocksInfo(variable, step));
        std::vector<typename core::Variable<T>::BPInfo> blocks;
        if (!info) return blocks;
        const auto dims = [&](const std::size_t* extents) {
            if (info->WasLocalValue) return adios2::Dims{reinterpret_cast<std::size_t>(extents)};
            if (extents == nullptr) return adios2::Dims();
            return adios2::Dims(extents, extents + info->Dims);
        };
        for (const auto& one : info->BlocksInfo) {
            typename core::Variable<T>::BPInfo block;
            block.Shape = dims(info->Shape);
            block.Start = dims(one.Start);
            block.Count = dims(one.Count);
            block.Step = info->Step;
            block.StepsStart = info->Step;
            block.StepsCount = 1;
            block.BlockID = one.BlockID;
            block.WriterID = one.WriterID;
            block.IsValue = info->IsValue;
            block.IsReverseDims = info->IsReverseDims;
            if constexpr (std::is_same_v<T, std::string>) {
                block.Value = *static_cast<const char* const*>(one.BufferP);
            } else {
                std::memcpy(static_cast<void*>(&block.Min), &one.MinMax.MinUnion,
                            std::min(sizeof(T), sizeof one.MinMax.MinUnion));
                std::memcpy(static_cast<void*>(&block.Max), &one.MinMax.MaxUnion,
                            std::min(sizeof(T), sizeof one.MinMax.MaxUnion));
                if (info->IsValue) std::memcpy(static_cast<void*>(&block.Value), one.BufferP, sizeof(T));
            }
            blocks.push_back(std::move(block));
        }
        return blocks;
    }

    Opened opened_;
    std::vector<std::function<void()>> forget_spans_;
};

// ---- does the ADIOS2 of this process have the layouts of the headers?

std::size_t size_of_engine_vtable()
{
    // No object is at hand whose first word would be its address.
    void* library = dlopen(STEPSTORE_ADIOS2_CORE_SONAME, RTLD_LAZY | RTLD_NOLOAD);
    void* table = library == nullptr ? nullptr : dlsym(library, "_ZTVN6adios24core6EngineE");
    Dl_info object{};
    void* symbol = nullptr;
    if (table == nullptr || dladdr1(table, &object, &symbol, RTLD_DL_SYMENT) == 0 || symbol == nullptr)
        return 0;
    return static_cast<const ElfW(Sym)*>(symbol)->st_size;
}

bool has_feature(const std::string& name)
{
    std::size_t count = 0;
    const char* const* names = nullptr;
    adios2_available_features(&count, &names);
    return std::find(names, names + count, name) != names + count;
}

// Empty: it has.
std::string difference()
{
    constexpr std::size_t vtable_size = 1960; // bytes, of ADIOS2 2.12.1
    // The wheel adds the number of its packaging to the version.
    if (!(std::string(adios2_version_str) + ".").starts_with(STEPSTORE_ADIOS2_RELEASE "."))
        return "it is ADIOS2 " + std::string(adios2_version_str);
    for (const char* feature : {"DERIVED_VARIABLE", "KOKKOS", "CUDA", "GPU_SUPPORT"})
        if (has_feature(feature)) return std::string("it was built with ") + feature;
    if (size_of_engine_vtable() != vtable_size)
        return "its class Engine has another number of functions (" +
               std::to_string(size_of_engine_vtable() / sizeof(void*)) + ")";
    return {};
}

} // namespace

bool core_fits()
{
    static const bool fits = difference().empty();
    return fits;
}

void register_native()
{
    if (const std::string what = difference(); !what.empty())
        throw Error(-DER_NOSYS,
                    "the native engine was built for ADIOS2 " STEPSTORE_ADIOS2_RELEASE
                    " without derived variables and GPUs, and does not fit the one of this process: " +
                        what + ". Use the engine type Plugin (docs/adios2.md)");
    const auto make = core::IO::MakeEngine<CoreEngine>;
    core::IO::RegisterEngine("stepstore", {make, make,
                                           [](core::IO& io, const std::string& name, const adios2::Mode mode,
                                              adios2::helper::Comm comm, const char*, const std::size_t) {
                                               return core::IO::MakeEngine<CoreEngine>(io, name, mode,
                                                                                       std::move(comm));
                                           }});
}

} // namespace stepstore::adios

#endif

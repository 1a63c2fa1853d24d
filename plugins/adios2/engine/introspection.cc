#include "introspection.h"

#include "adapter_name.h"
#include "core_engine.h"

#include <adios2/core/ADIOS.h>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <ranges>

namespace stepstore::adios {

namespace core = adios2::core;

namespace {

// An MPI_Comm is a pointer or an int: what is read of this is as long as the MPI at hand has it. Only
// ADIOS2's MPI library knows what is in its communicator.
void* mpi_comm_of(const adios2::helper::Comm& communicator)
{
    void* library = dlopen(STEPSTORE_ADIOS2_CORE_MPI_SONAME, RTLD_LAZY | RTLD_NOLOAD);
    using AsMpi = void* (*)(const adios2::helper::Comm&);
    const auto as_mpi = reinterpret_cast<AsMpi>(
        library == nullptr ? nullptr : dlsym(library, "_ZN6adios26helper9CommAsMPIERKNS0_4CommE"));
    if (as_mpi == nullptr)
        throw Error(-DER_NOSYS,
                    "stepstore: " STEPSTORE_ADIOS2_CORE_MPI_SONAME
                    ", which this program's ADIOS2 must have for its communicator, has no function "
                    "CommAsMPI");
    return as_mpi(communicator);
}

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

// Of those that change classes, as in STEPSTORE_ADIOS2_FEATURES.
std::string features()
{
    std::size_t count = 0;
    const char* const* names = nullptr;
    adios2_available_features(&count, &names);
    std::string all;
    for (const auto feature : features_of_layouts)
        if (std::find(names, names + count, feature) != names + count)
            all += (all.empty() ? "" : "+") + std::string(feature);
    return all;
}

std::string named(const std::string& features)
{
    return features.empty() ? "none of CUDA, DERIVED_VARIABLE, GPU_SUPPORT, KOKKOS" : features;
}

// Of the ADIOS2 of this process, for `stepstore adios2-build`.
std::string folder_of_core()
{
    Dl_info object{};
    if (dladdr(adios2_version_str, &object) == 0 || object.dli_fname == nullptr) return "DIR";
    const std::string path = object.dli_fname;
    return path.substr(0, path.rfind('/'));
}

// Empty: none.
std::string difference()
{
    if (const auto release = release_of(adios2_version_str); release != STEPSTORE_ADIOS2_RELEASE)
        return "it is ADIOS2 " + release;
    if (const auto has = features(); has != STEPSTORE_ADIOS2_FEATURES)
        return "it was built with " + named(has);
    if (size_of_engine_vtable() != STEPSTORE_ADIOS2_ENGINE_VTABLE)
        return "its class Engine has another number of functions (" +
               std::to_string(size_of_engine_vtable() / sizeof(void*)) + ")";
    return {};
}

// Extremes, and the value of a single one.
template <class Info>
void set_values(Info& block, const adios2::MinBlockInfo& found)
{
    using T = decltype(block.Value);
    if constexpr (std::is_same_v<T, std::string>) {
        block.Value = *static_cast<const char* const*>(found.BufferP);
    } else {
        std::memcpy(static_cast<void*>(&block.Min), &found.MinMax.MinUnion,
                    std::min(sizeof(T), sizeof found.MinMax.MinUnion));
        std::memcpy(static_cast<void*>(&block.Max), &found.MinMax.MaxUnion,
                    std::min(sizeof(T), sizeof found.MinMax.MaxUnion));
        if (block.IsValue) std::memcpy(static_cast<void*>(&block.Value), found.BufferP, sizeof(T));
    }
}

} // namespace

std::shared_ptr<Communicator> group_of(const adios2::helper::Comm& communicator)
{
    if (!communicator.IsMPI()) return self_communicator();
    void* mpi_comm = mpi_comm_of(communicator);
    return mpi_communicator(&mpi_comm);
}

std::shared_ptr<Communicator> group_within(const adios2::helper::Comm& communicator, const std::string& key,
                                           double timeout_seconds)
{
    void* mpi_comm = mpi_comm_of(communicator);
    return form_group_within(&mpi_comm, key, timeout_seconds);
}

const std::string& misfit()
{
    static const std::string why = [] {
        const auto what = difference();
        return what.empty()
                   ? what
                   : "this engine was built for ADIOS2 " STEPSTORE_ADIOS2_RELEASE " with " +
                         named(STEPSTORE_ADIOS2_FEATURES) + ", and this process has another one: " + what +
                         ". Build one for it: stepstore adios2-build --adios2 " + folder_of_core();
    }();
    return why;
}

void Introspection::forget_spans()
{
    for (const auto& forget : forget_spans_)
        forget();
    forget_spans_.clear();
}

void Introspection::note_absolute_steps()
{
    constexpr std::size_t most = 100'000; // each takes 80 bytes
    const auto is_ours = [&](const auto& entry) { return entry.second->m_Engine == this; };
    std::size_t all = 0;
    for (const auto& [name, variable] : m_IO.GetVariables() | std::views::filter(is_ours))
        all += variable->m_AvailableStepsCount;
    if (all > most) return;
    for (const auto& [name, variable] : m_IO.GetVariables() | std::views::filter(is_ours))
        for (const auto step : steps_of(*variable))
            variable->m_AvailableStepBlockIndexOffsets[step + 1]; // ADIOS2 counts from 1 here
}

adios2::MinVarInfo* Introspection::MinBlocksInfo(const core::VariableBase& variable, std::size_t step) const
{
    if (stream_.writing() || !stream_.reader().has_step()) return nullptr;
    return reading([&](auto& reader) { return reader.blocks_info(variable.m_Name, step); });
}

bool Introspection::VarShape(const core::VariableBase& variable, std::size_t step, adios2::Dims& shape) const
{
    if (stream_.writing() || !stream_.reader().has_step()) return false;
    return reading([&](auto& reader) {
        const bool selected = step == adios2::EngineCurrentStep;
        return reader.shape_of(variable.m_Name, selected ? variable.m_StepsStart : step, shape);
    });
}

bool Introspection::VariableMinMax(const core::VariableBase& variable, std::size_t step,
                                   adios2::MinMaxStruct& minmax)
{
    if (stream_.writing() || !stream_.reader().has_step()) return false;
    // As BP5 does: ADIOS2's programs take it that there are none.
    if (!reading([&](auto& reader) { return reader.has_extremes(variable.m_Name); }))
        throw std::logic_error("stepstore: variable '" + variable.m_Name +
                               "' has no minimum and maximum: it is of complex numbers, texts or structs");
    return reading([&](auto& reader) { return reader.minmax_of(variable.m_Name, step, minmax); });
}

template <class V>
std::vector<typename V::BPInfo> Introspection::as_blocks(const std::unique_ptr<adios2::MinVarInfo>& info)
{
    std::vector<typename V::BPInfo> blocks;
    if (!info) return blocks;
    const auto dims = [&](const std::size_t* extents) {
        if (info->WasLocalValue) return adios2::Dims{reinterpret_cast<std::size_t>(extents)};
        if (extents == nullptr) return adios2::Dims();
        return adios2::Dims(extents, extents + info->Dims);
    };
    for (const auto& one : info->BlocksInfo) {
        typename V::BPInfo block;
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
        if constexpr (!std::is_same_v<V, core::VariableStruct>) set_values(block, one);
        blocks.push_back(std::move(block));
    }
    return blocks;
}

#define instantiate(T)                                                                                       \
    template std::vector<core::Variable<T>::BPInfo> Introspection::as_blocks<core::Variable<T>>(             \
        const std::unique_ptr<adios2::MinVarInfo>&);
ADIOS2_FOREACH_STDTYPE_1ARG(instantiate)
#undef instantiate
template std::vector<core::VariableStruct::BPInfo>
Introspection::as_blocks<core::VariableStruct>(const std::unique_ptr<adios2::MinVarInfo>&);

} // namespace stepstore::adios

// Memory of devices (GPUs), as ADIOS2 tells it from the host's: SetMemorySpace(), or what it detects. Copies
// and extremes are made by ADIOS2's own functions. Where the ADIOS2 at hand knows no devices, nothing is one.
// Threads: that of the IO. Errors: those of ADIOS2's functions.
#pragma once

#include "base/own_state.h"
#include "core_api.h"
#include "core_engine.h"
#include "page_locked.h"

#if defined(STEPSTORE_ADIOS2_CORE) && defined(ADIOS2_HAVE_GPU_SUPPORT)
#include <adios2/helper/adiosGPUFunctions.h>
#endif

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

namespace stepstore::adios {

#if defined(STEPSTORE_ADIOS2_CORE) && (defined(ADIOS2_HAVE_GPU_SUPPORT) || defined(ADIOS2_HAVE_KOKKOS))

// To be asked before the variable's dimensions: the first buffer decides, as in BP5, whether ADIOS2 swaps
// their order for the variable. false: it is the host's.
inline bool on_device(const adios2::core::VariableBase& variable, const void* values)
{
    auto& asked = const_cast<adios2::core::VariableBase&>(variable);
#if defined(ADIOS2_HAVE_CUDA) || defined(ADIOS2_HAVE_KOKKOS_CUDA)
    // There CUDA fails, which ADIOS2 does not see: it looks at what was on its stack.
    if (asked.m_MemSpace == adios2::MemorySpace::Detect && !cuda_is_in_use())
        asked.SetMemorySpace(adios2::MemorySpace::Host);
#endif
    return asked.GetMemorySpace(values) != adios2::MemorySpace::Host;
}

#else

constexpr bool on_device(const adios2::core::VariableBase&, const void*)
{
    return false;
}

#endif

// Where the core does not fit: what another ADIOS2 says of its variable. -DER_NOTSUPPORTED: the memory is a
// device's.
[[gnu::noinline, gnu::cold]] inline void refuse_device(const adios2::core::VariableBase& variable,
                                                       const std::string& name, const void* values)
{
    const auto space = const_cast<adios2::core::VariableBase&>(variable).GetMemorySpace(values);
    if (space == adios2::MemorySpace::Host) return;
    throw Error(
        -DER_NOTSUPPORTED,
        "stepstore: variable '" + name +
            "' was given a buffer in the memory of a device, which needs an engine with GPU support: " +
            misfit());
}

#if defined(STEPSTORE_ADIOS2_CORE) && defined(ADIOS2_HAVE_GPU_SUPPORT)

inline void copy_from_device(std::byte* to, const void* from, std::size_t bytes)
{
    adios2::helper::MemcpyGPUToBuffer(reinterpret_cast<char*>(to), static_cast<const char*>(from), bytes);
}

inline const steps::PieceMemory* page_locked_memory()
{
    return &page_locked;
}

inline void copy_to_device(void* to, const std::byte* from, std::size_t bytes)
{
    adios2::helper::MemcpyBufferToGPU(static_cast<char*>(to), reinterpret_cast<const char*>(from), bytes);
}

// nullopt: to be found on the host. ADIOS2 has no kernel for the type, counts elements with an int, or found
// nothing but NaNs.
inline std::optional<steps::MinMax> extremes_on_device(steps::Type type, const void* values,
                                                       std::uint64_t elements)
{
    std::optional<steps::MinMax> found;
    if (!steps::has_minmax(type) || type == steps::Type::character || type == steps::Type::float128 ||
        elements > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
        return found;
    with_type(type, [&]<class T>(std::type_identity<T>) {
        if constexpr (std::is_arithmetic_v<T>) {
            T min = std::numeric_limits<T>::max(), max = std::numeric_limits<T>::lowest();
            adios2::helper::GPUMinMax(static_cast<const T*>(values), elements, min, max);
            if (min <= max) found = {steps::Scalar::of(min), steps::Scalar::of(max)};
        }
    });
    return found;
}

#else

// Never called: nothing is on a device.
inline void copy_from_device(std::byte*, const void*, std::size_t)
{
}
inline const steps::PieceMemory* page_locked_memory()
{
    return nullptr;
}
inline void copy_to_device(void*, const std::byte*, std::size_t)
{
}
inline std::optional<steps::MinMax> extremes_on_device(steps::Type, const void*, std::uint64_t)
{
    return std::nullopt;
}

#endif

// Page-locked memory for gets that go to a device. A child leaves it alone: it does not have it.
// Threads: one at a time.
class DeviceRoom {
public:
    static constexpr std::size_t bytes = 8 << 20;

    // Zeros, until clear(). Empty: there is none left, and ordinary memory does.
    MutableBytes take(std::size_t wanted)
    {
        constexpr std::size_t cache_line = 64;
        const steps::PieceMemory* const source = page_locked_memory();
        if (source == nullptr || wanted == 0 || wanted > bytes - used_) return {};
        if (!memory_) {
            std::byte* const taken = source->take(bytes);
            if (taken == nullptr) return {};
            memory_ = std::shared_ptr<std::byte>(
                taken, [source](std::byte* memory) { source->give_back(memory, bytes); });
        }
        const MutableBytes room(memory_.shared().get() + used_, wanted);
        std::ranges::fill(room, std::byte{0});
        used_ += (wanted + cache_line - 1) / cache_line * cache_line;
        return room;
    }
    void clear() { used_ = 0; }

private:
    OfProcess<OwnState::stream_reader, std::byte> memory_;
    std::size_t used_ = 0; // bytes
};

} // namespace stepstore::adios

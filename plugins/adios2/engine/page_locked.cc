#include "page_locked.h"

#include <atomic>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

// Of HIP's runtime; nullptr where ADIOS2 was not linked to it.
extern "C" {
[[gnu::weak]] int hipHostRegister(void* memory, std::size_t bytes, unsigned flags);
[[gnu::weak]] int hipHostUnregister(void* memory);
[[gnu::weak]] int hipGetLastError();
}

namespace stepstore::adios {
namespace {

constexpr unsigned for_all_devices = 1; // the flag PORTABLE of both
std::atomic<bool> held_back = false;    // by a driver

// Of CUDA's driver, where it is loaded; else nullptr.
template <class Function>
Function* of_cuda(const char* name)
{
    void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (driver == nullptr) return nullptr;
    const auto found = reinterpret_cast<Function*>(dlsym(driver, name));
    dlclose(driver); // it stays: others have loaded it
    return found;
}

// Without a trace of a failure for the program, which may ask for the last one.
bool done_by_hip(int failure)
{
    if (failure != 0 && hipGetLastError != nullptr) hipGetLastError();
    return failure == 0;
}

bool lock(void* memory, std::size_t bytes)
{
    auto* const cuda = of_cuda<int(void*, std::size_t, unsigned)>("cuMemHostRegister_v2");
    if (cuda != nullptr && cuda(memory, bytes, for_all_devices) == 0) return true;
    return hipHostRegister != nullptr && done_by_hip(hipHostRegister(memory, bytes, for_all_devices));
}

bool unlock(void* memory)
{
    auto* const cuda = of_cuda<int(void*)>("cuMemHostUnregister");
    if (cuda != nullptr && cuda(memory) == 0) return true;
    return hipHostUnregister != nullptr && done_by_hip(hipHostUnregister(memory));
}

std::size_t in_pages(std::size_t bytes)
{
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

std::byte* take(std::size_t bytes) noexcept
{
    if (held_back) return nullptr;
    bytes = in_pages(bytes);
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    if (madvise(memory, bytes, MADV_DONTFORK) == 0 && lock(memory, bytes))
        return static_cast<std::byte*>(memory);
    munmap(memory, bytes);
    return nullptr;
}

void give_back(std::byte* memory, std::size_t bytes) noexcept
{
    if (unlock(memory))
        munmap(memory, in_pages(bytes));
    else
        held_back = true;
}

} // namespace

const steps::PieceMemory page_locked = {take, give_back};

bool cuda_is_in_use()
{
    auto* const count = of_cuda<int(int*)>("cuDeviceGetCount");
    int devices = 0;
    return count != nullptr && count(&devices) == 0 && devices > 0; // else it is not initialised
}

} // namespace stepstore::adios

// Stands in for the drivers of devices, which page-lock memory: test_derived.py builds it as libcuda.so.1,
// and preloads it into device_program. STEPSTORE_TEST_DRIVER says which driver does it: cuda, hip, none of
// both, or "keeps": that of CUDA, which then lets nothing go.
#include <cstdlib>
#include <cstring>
#include <map>
#include <sys/mman.h>

namespace {

std::map<char*, std::size_t> locked; // where they begin, bytes
int last_error = 0;                  // of HIP

bool is(const char* driver)
{
    const char* wanted = std::getenv("STEPSTORE_TEST_DRIVER");
    return wanted != nullptr && std::strcmp(wanted, driver) == 0;
}

int lock(bool here, void* memory, std::size_t bytes, unsigned flags)
{
    constexpr std::size_t page = 4096;
    if (!here) return 801;
    if (flags != 1 || reinterpret_cast<std::size_t>(memory) % page != 0 || bytes % page != 0) std::abort();
    if (!locked.emplace(static_cast<char*>(memory), bytes).second) std::abort();
    return 0;
}

int unlock(bool here, void* memory)
{
    return here && locked.erase(static_cast<char*>(memory)) == 1 ? 0 : 1;
}

} // namespace

extern "C" {

int cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned flags)
{
    return lock(is("cuda") || is("keeps"), memory, bytes, flags);
}
int cuDeviceGetCount(int* devices)
{
    *devices = 1;
    return 0;
}
int cuMemHostUnregister(void* memory)
{
    return unlock(is("cuda"), memory);
}

int hipHostRegister(void* memory, std::size_t bytes, unsigned flags)
{
    return last_error = lock(is("hip"), memory, bytes, flags);
}
int hipHostUnregister(void* memory)
{
    return last_error = unlock(is("hip"), memory);
}
int hipGetLastError()
{
    const int was = last_error;
    last_error = 0;
    return was;
}

// For the program.
bool driver_has_locked(const void* memory, std::size_t bytes)
{
    const auto* begin = static_cast<const char*>(memory);
    for (const auto& [at, length] : locked)
        if (begin >= at && begin + bytes <= at + length) return true;
    return false;
}
std::size_t driver_locked()
{
    return locked.size();
}
}

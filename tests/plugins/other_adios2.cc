// Makes the ADIOS2 of the process say that it was built for GPUs, as one would whose classes have another
// layout: this stands in front of a function of ADIOS2. In the test programs where they are told so, and as a
// library that Python tests load.
#include <cstddef>
#include <cstdlib>
#include <dlfcn.h>

extern "C" __attribute__((visibility("default"))) void adios2_available_features(std::size_t* count,
                                                                                 const char* const** names)
{
    static const char* const features[] = {"GPU_SUPPORT", nullptr};
    if (std::getenv("STEPSTORE_TEST_OTHER_ADIOS2") == nullptr) {
        const auto real = reinterpret_cast<void (*)(std::size_t*, const char* const**)>(
            dlsym(RTLD_NEXT, "adios2_available_features"));
        return real(count, names);
    }
    *count = 1;
    *names = features;
}

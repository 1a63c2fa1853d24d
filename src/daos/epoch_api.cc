// What an epoch says of the clock (docs/format.md); also before daos_init.
#include "daos/api.h"

#include "daos/failure.h"

using namespace stepstore::daos;

extern "C" {

int daos_hlc2timespec(uint64_t hlc, struct timespec* ts)
try {
    constexpr std::uint64_t second = 1'000'000'000;
    require(ts, "ts");
    *ts = {.tv_sec = static_cast<time_t>(hlc / second), .tv_nsec = static_cast<long>(hlc % second)};
    return 0;
} catch (...) {
    return report(current_failure("daos_hlc2timespec"));
}

int daos_hlc2timestamp(uint64_t hlc, time_t* ts)
try {
    require(ts, "ts");
    timespec time;
    const int rc = daos_hlc2timespec(hlc, &time);
    *ts = time.tv_sec;
    return rc;
} catch (...) {
    return report(current_failure("daos_hlc2timestamp"));
}

} // extern "C"

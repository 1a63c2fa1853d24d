// Regions for Caliper: what the engine's times are called in a profile of the whole program. Without Caliper
// at configure time they are nothing.
// Threads: a region belongs to the one that made it. Errors: none.
#pragma once

#if defined(STEPSTORE_CALIPER)
#include <caliper/cali.h>
#endif

namespace stepstore::steps {

// Open from its construction to its end, on the thread that made it; regions nest. name: a literal,
// "stepstore.store".
class Region {
public:
#if defined(STEPSTORE_CALIPER)
    explicit Region(const char* name) : name_(name) { cali_begin_region(name_); }
    ~Region() { cali_end_region(name_); }

private:
    const char* name_;

public:
#else
    explicit Region(const char* /*name*/) {}
    ~Region() {}
#endif
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;
};

} // namespace stepstore::steps

// Round trips of this process to the Ceph cluster, as its RADOS module counts them.
#pragma once

#include "store/rados/module.h"

#include <dlfcn.h>

#include <cstdint>
#include <ostream>
#include <stdexcept>

namespace stepstore::testing {

struct Counted {
    std::uint64_t reads = 0, writes = 0;
    std::uint64_t sum() const { return reads + writes; }
    friend bool operator==(const Counted&, const Counted&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Counted& one)
    {
        return out << one.reads << " reads, " << one.writes << " writes";
    }
};

// So far. The module is the one that the library under test uses: a process has it once.
inline store::rados::Trips rados_trips()
{
    using Count = void (*)(store::rados::Trips&);
    static const auto count = [] {
        void* module = dlopen(STEPSTORE_TEST_RADOS_MODULE, RTLD_NOW | RTLD_LOCAL);
        void* found = module == nullptr ? nullptr : dlsym(module, store::rados::trips_symbol);
        if (found == nullptr) throw std::runtime_error(dlerror());
        return reinterpret_cast<Count>(found);
    }();
    store::rados::Trips counted{};
    count(counted);
    return counted;
}

template <class Action>
Counted trips_of(Action action)
{
    const store::rados::Trips before = rados_trips();
    action();
    const store::rados::Trips after = rados_trips();
    return {after.reads - before.reads, after.writes - before.writes};
}

} // namespace stepstore::testing

// The back ends there are. Those of this library are named here, one line each, and not by static objects of their
// own files: a linker takes out of a static library only the files that something names.
#include "store/builtin.h"

#include <algorithm>
#include <mutex>

namespace stepstore::store {

namespace {

std::vector<BackendFactory>& registered()
{
    static std::vector<BackendFactory> all{
        lmdb::factory(), // the default comes first
        memory::factory(),
    };
    return all;
}

} // namespace

const std::vector<BackendFactory>& backends()
{
    return registered();
}

bool register_backend(const BackendFactory& factory)
{
    static std::mutex guard; // registrations of one another; they happen before main, readers come after
    std::lock_guard lock(guard);
    auto& all = registered();
    if (std::ranges::any_of(all, [&](const BackendFactory& one) { return one.name == factory.name; })) return false;
    all.push_back(factory);
    return true;
}

} // namespace stepstore::store

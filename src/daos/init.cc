// daos_init, daos_fini and daos_reinit.
#include "daos/api.h"

#include "daos/call.h"

#include <atomic>
#include <mutex>

namespace stepstore::daos {
namespace {

std::mutex init_mutex;
std::atomic<unsigned> users{0}; // written under init_mutex

} // namespace

bool initialised() noexcept
{
    return users.load(std::memory_order_relaxed) > 0;
}

void require_initialised()
{
    if (!initialised()) throw Error(-DER_UNINIT, "the library is not initialised: call daos_init() first");
}

} // namespace stepstore::daos

using namespace stepstore::daos;

extern "C" int daos_init(void)
{
    const std::lock_guard lock(init_mutex);
    users.fetch_add(1);
    return 0;
}

extern "C" int daos_fini(void)
{
    return call("daos_fini", [] {
        const std::lock_guard lock(init_mutex);
        require_initialised(); // another thread may have been faster
        if (users.load() == 1) {
            stop_workers(); // what is in flight completes first
            erase_all_handles();
        }
        users.fetch_sub(1);
    });
}

// What is open notices a fork by itself.
extern "C" int daos_reinit(void)
{
    return call("daos_reinit", [] {});
}

// A pool that is open for the C calls which the C++ client does not have.
// Threads: one. Errors: those of daos_pool_connect().
#pragma once

#include "common.h"

#include "base/not_copied.h"
#include "stepstore/admin.h"

#include <daos.h>

namespace stepstore::python {

inline void require_done(int code)
{
    if (code != 0) throw Error(code, stepstore_last_message());
}

// daos_init(), and a pool for the C calls.
class OpenPool : NotCopied {
public:
    OpenPool(const std::string& location, unsigned flags)
    {
        std::size_t size = 0;
        require_done(stepstore_pool_path(location.c_str(), nullptr, &size));
        std::string path(size, '\0');
        require_done(stepstore_pool_path(location.c_str(), path.data(), &size));
        require_done(daos_init());
        const int code = daos_pool_connect(path.c_str(), nullptr, flags, &handle_, nullptr, nullptr);
        if (code == 0) return;
        Error error(code, stepstore_last_message());
        daos_fini();
        throw error;
    }
    ~OpenPool()
    {
        daos_pool_disconnect(handle_, nullptr);
        daos_fini();
    }
    daos_handle_t get() const { return handle_; }

private:
    daos_handle_t handle_{};
};

} // namespace stepstore::python

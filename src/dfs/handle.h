// An open object of libdaos, closed with its owner.
// Threads: as of the handle in it. Errors: the calls fail with the errno of libdaos's code (failure.h).
#pragma once

#include "dfs/failure.h"

#include <daos.h>
#include <utility>

namespace stepstore::dfs {

class Handle {
public:
    Handle() = default;
    static Handle object(daos_handle_t container, daos_obj_id_t oid, unsigned mode)
    {
        Handle handle;
        require_done(daos_obj_open(container, oid, mode, &handle.handle_, nullptr), "opening an object");
        return handle;
    }
    static Handle array(daos_handle_t container, daos_obj_id_t oid, daos_handle_t th, unsigned mode,
                        daos_size_t chunk_size)
    {
        Handle handle;
        require_done(
            daos_array_open_with_attr(container, oid, th, mode, 1, chunk_size, &handle.handle_, nullptr),
            "opening a file");
        return handle;
    }
    Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
    Handle& operator=(Handle&& other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Handle()
    {
        if (daos_handle_is_valid(handle_)) daos_obj_close(handle_, nullptr); // of an array too
    }

    daos_handle_t get() const { return handle_; }

private:
    daos_handle_t handle_{};
};

} // namespace stepstore::dfs

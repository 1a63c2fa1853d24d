// What the client's classes hold. Everything that is open keeps open what it was opened from, so the order in
// which a program lets go of things does not matter.
// Threads: what is open does not change, and may be shared. Errors: constructors throw what the library says
// (failure.h), destructors nothing.
#pragma once

#include "base/not_copied.h"
#include "client/failure.h"
#include "location/location.h"
#include "stepstore/client.h"
#include "stepstore/libdaos.h"

#include <memory>
#include <string>
#include <vector>

namespace stepstore {

// One daos_init(), undone at the end.
class LibraryInit : NotCopied {
public:
    explicit LibraryInit(std::shared_ptr<const Library> library);
    ~LibraryInit();
    const Library& library() const { return *library_; }
    const std::shared_ptr<const Library>& shared() const { return library_; }

private:
    std::shared_ptr<const Library> library_;
};

struct Pool::State : NotCopied {
    State(std::shared_ptr<const Library> library, const std::string& pool, std::string location,
          Access access);
    State(std::shared_ptr<const Library> library, std::string location, Bytes global);
    ~State();
    const Library& library() const { return initialised.library(); }

    LibraryInit initialised;
    std::string location;
    std::string connected; // as the library's pool_connect took it; empty: through another process's handle
    Access access = Access::read_write; // through another process's handle: that process knows
    daos_handle_t handle{};
};

struct Container::State : NotCopied {
    State(std::shared_ptr<Pool::State> pool, std::string label, Access access);
    State(std::shared_ptr<Pool::State> pool, std::string label, Bytes global);
    // The same container as of a snapshot.
    State(std::shared_ptr<State> latest, std::uint64_t epoch);
    ~State();
    const Library& library() const { return pool->library(); }
    bool is_snapshot() const { return latest != nullptr; }
    std::string name() const; // for messages

    std::shared_ptr<Pool::State> pool;
    std::shared_ptr<State> latest; // of a snapshot: what it was taken from, which owns the handle
    std::string label;
    daos_handle_t handle{};
    daos_handle_t transaction{}; // DAOS_TX_NONE unless of a snapshot
    std::uint64_t epoch = 0;
};

struct EventQueue::State : NotCopied {
    explicit State(std::shared_ptr<Pool::State> pool);
    ~State();

    std::shared_ptr<Pool::State> pool;
    daos_handle_t handle{};
};

// Bytes as the calls on global handles take them: all of the memory is filled.
inline d_iov_t global_iov(Bytes bytes)
{
    d_iov_t iov;
    d_iov_set(&iov, const_cast<std::byte*>(bytes.data()), bytes.size());
    return iov;
}
// local2global: asks for the size, then for the bytes.
template <class Call>
std::vector<std::byte> global_handle(const Library& library, Call call, const std::string& tried)
{
    d_iov_t iov{};
    check(library, call(&iov), [&] { return tried; });
    std::vector<std::byte> bytes(iov.iov_buf_len);
    iov.iov_buf = bytes.data();
    check(library, call(&iov), [&] { return tried; });
    bytes.resize(iov.iov_len);
    return bytes;
}

std::string object_name(const ObjectId& id, const Container::State& container);
unsigned open_mode(const Container::State& container, Access access);

inline daos_obj_id_t to_daos(const ObjectId& id)
{
    daos_obj_id_t oid;
    oid.lo = id.lo;
    oid.hi = id.hi;
    return oid;
}

} // namespace stepstore

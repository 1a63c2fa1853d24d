// One pool as this process has it open: what every Pool of that path, their containers and check share.
// Threads: any; a PoolCore is shared by all of the process that have the pool open. Errors: DER_NONEXIST,
// DER_NO_PERM, DER_INVAL, DER_BUSY; DER_CSUM and DER_DF_INVAL for damage.
#pragma once

#include "base/function_ref.h"
#include "base/not_copied.h"
#include "store/backend.h"
#include "store/sealed.h"
#include "store/store.h"
#include "store/verify_miss.h"

#include <atomic>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace stepstore::store {

inline constexpr std::uint32_t format_version = 3;

// ---- keys of the target meta()
enum class MetaSpace : std::uint8_t {
    header = 0x01,
    container = 0x02,  // container
    snapshot = 0x03,   // container epoch
    oids = 0x04,       // container: the next object number
    destroying = 0x05, // container: marked, records not all gone yet
    uuid = 0x06,       // uuid -> container
    label = 0x07,      // label -> container
    next = 0x08,       // the next container id
    attribute = 0x09,  // container (0: the pool), stored name: a user attribute
    marker = 0x0a,     // container epoch object: what was noted of it in the table of a snapshot
    last = marker,
};
inline KeyBuffer meta_key(MetaSpace space)
{
    return KeyBuffer().add(static_cast<std::uint8_t>(space));
}
inline KeyBuffer meta_key(MetaSpace space, std::uint64_t container)
{
    return meta_key(space).add(static_cast<std::uint32_t>(container));
}

// Targets and durability are the back end's to know.
struct PoolHeader {
    std::uint32_t version = format_version;
    Uuid uuid{};
    std::string label;
    Epoch created = 0;
};
// The header of the pool, read from meta(). DER_CSUM, DER_DF_INCOMPT; DER_DF_INVAL, also when there is none.
PoolHeader read_pool_header(ReadTransaction& meta, const std::string& path);
// Throws when a target's header is missing, damaged, or of another pool or place.
void verify_target_header(ReadTransaction& target, const std::string& path, const Uuid& pool, unsigned index);
// Makes the records that a new pool begins with.
PoolHeader format_pool(Storage& storage, const std::string& label);

// What `look` finds in one moment of the target.
template <class Look>
auto look_at(Target& target, Look look)
{
    std::invoke_result_t<Look, ReadTransaction&> found{};
    target.read([&](ReadTransaction& transaction) { found = look(transaction); });
    return found;
}

// Runs `body` with a write transaction on each of these targets, in ascending order (meta_target first). The
// last one commits first; `committed` is called with the index of each after its commit. When one has to
// begin again, all do. This includes those inside it that have committed by then, and those outside it that
// its first run has put something into.
inline constexpr unsigned meta_target = UINT32_MAX;
void write_nested(Storage& storage, std::span<const unsigned> targets,
                  FunctionRef<void(std::span<WriteTransaction* const>)> body,
                  FunctionRef<void(std::size_t)> committed);

// The back end of the pool at `path`. DER_NONEXIST: there is none, which `advice` goes on from; DER_NO_PERM:
// it may not be looked at.
const Backend& backend_of(const std::string& path, const char* advice);

// Of a pool or a container: at most 127 characters of [A-Za-z0-9._:-], no uuid, not "." or "..". DER_INVAL:
// `what` and why.
void require_label(const std::string& what, std::string_view label);

// The name by which a process knows a pool. DER_INVAL, DER_BADPATH, DER_NO_PERM.
std::string canonical_pool_path(const std::string& path);

class PoolCore : NotCopied {
public:
    PoolCore(std::string path, const Backend& backend, std::unique_ptr<Storage> storage, PoolHeader header);

    // The pool at this path, opened or shared.
    static std::shared_ptr<PoolCore> acquire(const std::string& path, Access access);

    Storage& storage() { return *storage_; }
    // Opened, and its header verified, at the first use: a process needs few of them. to_write: an update
    // follows. DER_CSUM, DER_DF_INVAL.
    Target& target(unsigned index, bool to_write = false);
    void trust_targets(); // their headers are verified elsewhere
    const std::string& path() const { return path_; }
    const Backend& backend() const { return backend_; }
    const PoolHeader& header() const { return header_; }

    // All targets at once, meta first. For what concerns a container on every target.
    void
    write_all(FunctionRef<void(WriteTransaction& meta, std::span<WriteTransaction* const> targets)> body);

    void container_opened(std::uint64_t id);
    void container_closed(std::uint64_t id) noexcept;
    bool container_open(std::uint64_t id);

private:
    const std::string path_;
    const Backend backend_;
    const PoolHeader header_;
    const std::unique_ptr<Storage> storage_;
    std::unique_ptr<std::atomic<bool>[]> verified_; // by target
    std::multiset<std::uint64_t> open_containers_;  // guarded by ForkLock::containers
    std::atomic<bool> tidied_ = false;              // by the first opener that may write
};

// Erases the records of meta that begin with `prefix`, in batches. Nobody may add more: of an owner that is
// gone.
void erase_in_meta(PoolCore& core, const KeyBuffer& prefix);

// ---- containers (containers.cc)
struct ContainerRecord {
    Uuid uuid{};
    std::string label;
    Epoch created = 0;
    std::vector<std::byte> properties;
};
// DER_NONEXIST when it is gone.
ContainerRecord read_container(ReadTransaction& meta, const std::string& path, std::uint64_t id);
bool decode_container(Bytes body, ContainerRecord& record);
// 0: none of that name.
std::uint64_t find_container(ReadTransaction& meta, const std::string& path, std::string_view label_or_uuid);
// Finishes what a crash, or nothing, left of the destruction of containers and snapshots.
void finish_destructions(PoolCore& core);
// Deletes the container's records on every target, in batches, and then its mark in meta.
void erase_container_records(PoolCore& core, std::uint32_t id);
// Takes a number, of which there are marks, away from who may be making a container with it, and removes the
// marks. False: there is a container of this number.
bool abandon_container(PoolCore& core, std::uint32_t id);
// Completes the removal of snapshots that are marked in meta.
void finish_snapshot_removal(PoolCore& core, std::uint32_t container, std::span<const Epoch> epochs);

enum class SnapshotState : std::uint8_t {
    there,
    removing,
    gone // kept while it is the newest, so that the newest in meta only ever gets later
};
struct SnapshotRecord {
    SnapshotState state = SnapshotState::there;
    std::string name;
};
bool decode_snapshot(Bytes body, SnapshotRecord& record);
// Those of a container that are there.
std::vector<SnapshotInfo> list_snapshots(ReadTransaction& meta, const std::string& path,
                                         std::uint64_t container);
// After a walk over records of meta: DER_CSUM where a damaged one beside them may be one of `what`.
void require_all_listed(const Entries& walked, const std::string& path, const char* what);

} // namespace stepstore::store

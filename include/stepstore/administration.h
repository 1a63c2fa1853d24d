// Looking after pools of ours: what libdaos leaves to the administrator's tools (stepstore/admin.h), for C++.
//
// Pools are named by their location (client.h). Pools of a DAOS system have tools of their own: with daos://
// every call throws DER_NOSYS unless it says otherwise. A failure is a stepstore::Error, as in client.h.
// Texts are as they are stored: a path may hold any bytes.
//
// Threads: any, without a state of their own. A callback runs in its caller's thread.
#pragma once

#include "stepstore/client.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stepstore {

struct TargetInfo {
    std::uint64_t index_bytes = 0; // on the medium
    std::uint64_t bulk_bytes = 0;
    std::uint64_t updates = 0; // requests since the pool was made, by all processes
    std::uint64_t fetches = 0;
    std::uint64_t bytes_written = 0;
    std::uint64_t bytes_read = 0;
};

struct PoolInfo {
    std::string path;
    std::string error; // of list_pools: why this pool cannot be opened; then the path is all there is
    std::string label;
    std::string uuid;
    std::string backend;
    std::uint32_t format = 0; // version
    Durability durability = Durability::process;
    std::uint64_t containers = 0;
    std::uint64_t space_total = 0; // of the file system, bytes
    std::uint64_t space_free = 0;
    std::uint64_t files = 0; // of a pool in files, by describe_pool(); else 0
    std::vector<TargetInfo> targets;
};

// One thing that a check has found.
struct Finding {
    enum class Severity : std::uint8_t {
        info,        // worth knowing: a writer at work, or a dead one
        reclaimable, // space that nothing refers to
        damage
    };
    Severity severity = Severity::damage;
    std::string where;  // pool, target, container, object, key or range: whatever is known
    std::string what;   // what is wrong
    std::string advice; // what can be saved, and how
};
STEPSTORE_API std::string_view name_of(Finding::Severity severity); // "info"

struct CheckSummary {
    std::uint64_t containers = 0, objects = 0, records = 0, bytes = 0, extents = 0;
    std::uint64_t reclaimable_bytes = 0; // bulk bytes that nothing refers to
    std::uint64_t reclaimed_bytes = 0;   // of them, given back by `repair`
    std::uint64_t findings = 0;
    bool damaged = false;
};

struct CompactedTarget {
    std::uint64_t index_before = 0, index_after = 0; // bytes
    std::uint64_t bulk_before = 0, bulk_after = 0;
    std::uint64_t files_before = 0, files_after = 0; // of a pool in files
};

struct ContainerInfo {
    std::string uuid;
    std::uint64_t snapshots = 0;       // how many there are
    std::uint64_t latest_snapshot = 0; // its epoch; 0: there is none
};

struct ObjectInfo {
    ObjectId id;
    bool key_value = false; // neither this nor `array`: an object of dkeys and akeys
    bool array = false;
    std::string object_class;          // "S2"
    std::optional<std::uint64_t> keys; // of a key-value; of an object of dkeys and akeys its dkeys
    std::optional<std::uint64_t> size; // of an array that keeps its attributes, cells
    std::optional<ArrayAttributes> attributes;
};

// stepstore_ask_in_waits() of stepstore/admin.h, for a host with signals of its own. nullptr: none is asked.
STEPSTORE_API void ask_in_waits_of_calls(int (*asked)());
// The directory of a pool, which need not exist.
STEPSTORE_API std::string pool_path(const std::string& location);
STEPSTORE_API PoolInfo describe_pool(const std::string& location);
// Those in a directory; nullopt: in the root directory ($STEPSTORE_ROOT). One that cannot be opened is listed
// with its error.
STEPSTORE_API std::vector<PoolInfo> list_pools(const std::optional<std::string>& directory = std::nullopt);
// Looks through a pool, beside those who use it. data: reads and verifies every value too. repair: gives back
// space that nothing refers to. What `each` throws ends the walk and comes out.
STEPSTORE_API CheckSummary check_pool(const std::string& location, bool data, bool repair,
                                      const std::function<void(const Finding&)>& each = {});
// Gives space back that nothing needs. One entry for each target; the pool's metadata comes last.
STEPSTORE_API std::vector<CompactedTarget> compact_pool(const std::string& location);
// Also on a DAOS system.
STEPSTORE_API ContainerInfo describe_container(const Container& container);
// The objects of a container, as of the snapshot that it was opened at. sizes: each is asked for its own.
// On a DAOS system only without sizes, and at a snapshot that was made with a table of its objects
// (Container::create_snapshot); else DER_NOSYS or DER_NONEXIST.
STEPSTORE_API std::vector<ObjectInfo> list_objects(const Container& container, bool sizes);
// With its sizes. DER_NONEXIST: nothing is stored under this id.
STEPSTORE_API ObjectInfo describe_object(const Container& container, const ObjectId& id);

} // namespace stepstore

// This process as a writer of extents, and what of it others can clean up when it is dead.
//
// 1. A client has a number, and a record in meta that names its connection to the cluster. A process that may
//    update watches the pool's header, so all can see which connections live.
// 2. Extents are appended in lanes. A lane holds one append at a time, and its record on the target says how
//    many it has published. The update that refers to the extent moves the record on, in the same operation.
// 3. So of a dead client at most one append per lane is an orphan: the one after the published ones. Its
//    objects are known by name.
// 4. A process that cleans up removes the lane's record first. A client that was taken for dead and lives
//    has its update refused, since that needs the record as it was. It then watches again, as a client with a
//    new number, and appends anew in new lanes.
// 5. An update that drops the last reference to extents notes them on the target. The note goes when their
//    objects are gone. What a dead client has noted is removed by the process that cleans up.
//
// Threads: any, under locks of their own; a Lane is of the one that took it. Errors: DER_CSUM, DER_NOSPACE,
// DER_OVERFLOW, and those of the cluster.
#pragma once

#include "stepstore/error.h"
#include "store/rados/index.h"

#include <daos_errno.h>

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace stepstore::store::rados {

inline constexpr std::uint64_t piece_size = 4 << 20; // bytes of an object that holds a part of an extent
inline constexpr std::uint32_t expected_pieces = 64; // of an append, where its lane's record says no more

struct LaneRecord {
    std::uint32_t published = 0;
    std::uint32_t pieces = expected_pieces; // that the next append has at most
    std::string encoded() const { return big(published, 4) + big(pieces, 4); }
    static LaneRecord decode(std::string_view text)
    {
        if (text.size() != 8)
            throw Error(-DER_CSUM, "the record of a client's lane has " + std::to_string(text.size()) +
                                       " bytes instead of 8: the index is damaged");
        return {static_cast<std::uint32_t>(from_big(text.substr(0, 4))),
                static_cast<std::uint32_t>(from_big(text.substr(4, 4)))};
    }
};

// The number of an append: which client, lane, and how many were before.
struct FileNumber {
    std::uint64_t client = 0, lane = 0, append = 0;
    static constexpr unsigned append_bits = 24, lane_bits = 12;
    static constexpr std::uint64_t most_appends = (std::uint64_t{1} << append_bits) - 1;
    static constexpr std::uint64_t most_lanes = std::uint64_t{1} << lane_bits;
    std::uint64_t encoded() const
    {
        return client << (append_bits + lane_bits) | lane << append_bits | append;
    }
    static FileNumber decode(std::uint64_t file)
    {
        return {file >> (append_bits + lane_bits), file >> append_bits & (most_lanes - 1),
                file & most_appends};
    }
};

inline std::string lane_key(std::uint64_t client, std::uint64_t lane)
{
    return std::string(1, lane_space) + big(client, 4) + big(lane, 2);
}

struct Lane {
    std::uint64_t client = 0, number = 0;
    LaneRecord record;     // as it is on the target
    bool in_doubt = false; // an update that moves it on may have been carried out
    std::string key() const { return lane_key(client, number); }
    std::uint64_t file() const { return FileNumber{client, number, record.published + 1}.encoded(); }
};

// The number of this process's connection as a client, registered at first use.
class Client : NotCopied {
public:
    // watched_anew: watches the header again where the watch was lost, and tells whether it was.
    Client(Index& meta, std::function<bool()> watched_anew)
        : meta_(meta), watched_anew_(std::move(watched_anew))
    {
    }
    // Another one where the process may have been taken for dead.
    std::uint64_t number();
    bool registered();
    void forget(); // its record is no longer needed

private:
    Index& meta_;
    const std::function<bool()> watched_anew_;
    std::mutex guard_; // guards number_
    std::uint64_t number_ = 0;
};

// The lanes of this process on one target.
class Lanes : NotCopied {
public:
    Lanes(Client& client, Index& index) : client_(client), index_(index) {}
    Lane& take();                        // for one append
    Lane* taken_for(std::uint64_t file); // nullptr: by nobody
    void settle(Lane& lane, bool published);
    void abandon(Lane& lane); // nobody uses it any more: what is in doubt stays so
    void verify();            // abandons those whose records others have removed
    // Removes the records of idle lanes. False: there are others.
    bool close();

private:
    Client& client_;
    Index& index_;
    std::mutex guard_; // guards the rest
    std::vector<std::unique_ptr<Lane>> all_;
    std::vector<Lane*> idle_;
    std::vector<Lane*> busy_;
    std::uint64_t next_ = 0;
};

} // namespace stepstore::store::rados

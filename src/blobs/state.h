// Shared by the files of this room.
// Threads: shared by all copies of a Blobs, without a lock: only Numbers has a state. Errors: as blobs.h
// says.
#pragma once

#include "blobs/blobs.h"
#include "blobs/entry.h"
#include "blobs/numbers.h"

namespace stepstore::blobs {

struct Blobs::State : NotCopied {
    State(std::shared_ptr<Container> in, const std::string& pool, Access access);
    ~State() { numbers.leave(); }

    // nullopt: there is no such blob. Refuses what is no entry.
    std::optional<Version> entry(const std::string& key) const;
    Entry decode(const std::string& key, Bytes entry) const;
    // False: the array is not there, or ends before what its entry says.
    bool read(const std::string& key, const Entry& entry, Slice slice, Room room) const;

    // In the directory. False, with only_new: there is a blob.
    bool publish(const std::string& key, Bytes entry, Put put);
    // With the outcome for the array that it names.
    bool publish_array(const std::string& key, std::uint64_t number, Bytes entry, Put put);
    // Of what an update replaced: its size, and its bytes if they fit.
    using Replaced = std::array<std::byte, 64>;
    void free(std::optional<std::size_t> size, const Replaced& replaced) const noexcept;
    void free(Bytes replaced) const noexcept;
    bool take(const std::string& key);
    std::string name_of(const std::string& key) const;

    std::shared_ptr<Container> container;
    std::string where; // "POOL/CONTAINER"
    KeyValue directory;
    bool lists_objects; // the store tells which there are
    bool keeps_sums;    // of arrays, since the pool does not verify them
    Numbers numbers;    // last: it asks for the names
};

struct Part {
    std::uint64_t first, end;
    std::size_t size() const { return static_cast<std::size_t>(end - first); }
};
Part part_of(Slice slice, std::uint64_t size);

void require_key(const std::string& key); // -DER_INVAL: it is empty

inline constexpr std::size_t piece = std::size_t{8} << 20; // bytes of a copy at a time

} // namespace stepstore::blobs

// The metadata objects of a segment, whatever their number: Objects.
//
// With per-step objects nothing but the side object can tell how many there are. Object ids are numbers
// that are never asked for whether they exist. So a rank says in its key "Objects-Rank<R>" up to where it
// may have written, before it writes there: some steps ahead, so that it says so rarely. A process that
// destroys them destroys up to the furthest of the ranks, and the side object last. A death in between
// leaves all that the next one needs.
//
// Threads: one at a time, as the layout that uses it. Errors: those of the store, -DER_OVERFLOW if no object
// is left for a step.
#pragma once

#include "steps/layouts/layout.h"

#include <map>

namespace stepstore::steps {

// How many numbers from record.metadata.lo on may have objects. Of a segment whose layout may be another one
// than the record says (dropped segments), so from its ids and its side object alone.
std::uint64_t count_metadata_objects(const Container& container, const StreamRecord& segment);
// All from record.metadata.lo + from on.
void destroy_metadata_objects(const Container& container, const StreamRecord& segment, std::uint64_t from);

// Says how far a rank's per-step objects reach.
class ObjectsReach {
public:
    ObjectsReach(const LayoutContext& context, std::uint32_t rank);
    // Before a rank writes into the object of the step. How many requests it took: 0 or 1.
    std::uint64_t cover(std::uint64_t step);

private:
    const StreamRecord& record_;
    std::string key_;
    std::optional<KeyValue> side_; // with per-step objects
    std::uint64_t reach_ = 0;      // objects
};

// Those that are open. They stay so until there are many.
template <class Object>
class OpenObjects {
public:
    OpenObjects(const LayoutContext& context, Access access)
        : container_(context.container), record_(context.record), access_(access)
    {
    }
    // Until the next make_room().
    Object& of(std::uint64_t step, std::uint32_t rank)
    {
        const ObjectId id = record_.metadata_of(step, rank);
        const auto known = open_.find(id);
        return known != open_.end() ? known->second : open_.emplace(id, open(id)).first->second;
    }
    void make_room()
    {
        constexpr std::size_t most = 64;
        if (record_.objects == Objects::per_step && open_.size() >= most) open_.clear();
    }

private:
    Object open(const ObjectId& id) const
    {
        if constexpr (std::is_same_v<Object, Array>) {
            Array array = container_.open_array(id, {1, record_.chunk_size}, access_);
            array.leave_ends_untold(); // metadata says itself how long it is
            return array;
        } else {
            return container_.key_value(id, access_);
        }
    }

    const Container& container_;
    const StreamRecord& record_;
    Access access_;
    std::map<ObjectId, Object> open_;
};

// One rank's bytes of a step, wherever its object lies.
struct MetadataPiece {
    std::uint64_t step;
    std::uint32_t rank;
    std::uint64_t at;
    MutableBytes memory;
};

// Metadata arrays to read.
class MetadataArrays {
public:
    explicit MetadataArrays(const LayoutContext& context);
    // One vector read for each object. Those of several objects are in flight together. The number of
    // requests.
    std::uint64_t read(std::span<const MetadataPiece> pieces);
    // How many of so many bytes the array has there. Asked before much memory is taken for them, since only a
    // record says how many they are. Few bytes are not looked for.
    std::uint64_t there(std::uint64_t step, std::uint32_t rank, std::uint64_t at, std::uint64_t bytes);
    static constexpr std::uint64_t much = std::uint64_t{64} << 20; // bytes

private:
    OpenObjects<Array> arrays_;
    const StreamRecord& record_;
    EventQueue queue_;
};

} // namespace stepstore::steps

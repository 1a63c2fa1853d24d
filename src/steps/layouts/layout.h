// Where the metadata of a step lies, and with it the data blocks: the seam between the timestep engine
// and its layouts. A layout is a file in this folder that fills a struct Layout, and a line in registry.cc.
// Nothing else names it (style.layouts). docs/extending.md shows how to add one.
//
// A rank's metadata describes itself: step, rank, generation, length, checksums. So a layout needs no lock
// and no second message to publish. A step is there when the metadata of all its ranks is. Metadata of 0
// bytes does not exist: a rank that put nothing has a header too.
//
// Threads: one at a time for each LayoutWriter, LayoutReader or MetadataCollector. Errors: those of the
// store; damage is thrown, what is not there yet is false or nullopt.
#pragma once

#include "comm/communicator.h"
#include "steps/metadata/decoder.h"
#include "steps/stream_record.h"

#include <daos_errno.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace stepstore::steps {

// What a layout works on. It outlives what a layout makes of it.
struct LayoutContext {
    const Pool& pool;
    const Container& container;
    const StreamRecord& record;           // of one segment; a reader's is kept up to date
    std::size_t expected_size = 16 << 10; // bytes: a reader's first guess
};

class LayoutWriter {
public:
    virtual ~LayoutWriter() = default;
    // Stores this rank's metadata. When it returns, this rank's part is done. Where collective() is true, all
    // ranks call it for the same steps in the same order. A rank that failed and has no metadata calls
    // abandon() instead, so that no rank waits for it.
    virtual void store(std::uint64_t step, Bytes metadata) = 0;
    // Stores the copy of a part of this rank's metadata that later steps refer to (MetadataPart). False: the
    // layout has no place for it, so the side object takes it.
    virtual bool store_copy(Bytes /*copy*/) { return false; }
    virtual void abandon(std::uint64_t /*step*/) {}
    // No more steps of this rank. Where collective() is true every rank calls it once, also one whose step
    // failed. Such a rank then takes part in the exchanges of those that still write, so that they get the
    // error and do not wait.
    virtual void finish() {}
    virtual bool collective() const { return false; }
    // Whether this rank waits for others within store() of the step. Then its -DER_CANCELED is theirs too.
    virtual bool meets(std::uint64_t /*step*/) const { return collective(); }
    std::uint64_t requests() const { return requests_; } // to the store

protected:
    std::uint64_t requests_ = 0;
};

class LayoutReader {
public:
    virtual ~LayoutReader() = default;
    // All metadata of a step. False: not all of it is there (yet); what was found already is not fetched
    // again. Throws for damage.
    virtual bool fetch(std::uint64_t step, StepMetadata& into) = 0;
    // The steps from `first` on, at most `count`, as far as they are whole: few rounds of requests for all of
    // them. Damage ends the row too; fetch() says what it is.
    virtual void fetch_ahead(std::uint64_t first, std::uint64_t count, std::vector<StepMetadata>& into);
    // What lies in one rank's place, for checks: nullopt: nothing. Damaged bytes are given as they are.
    virtual std::optional<std::vector<std::byte>> raw_metadata(std::uint64_t step, std::uint32_t rank) = 0;
    // The same, but what is not whole is looked at twice (base/second_look.h).
    std::optional<std::vector<std::byte>> find_metadata(std::uint64_t step, std::uint32_t rank);
    // What store_copy() has stored of a rank, as it is: it may be damaged.
    virtual std::vector<std::vector<std::byte>> copies(std::uint32_t /*rank*/) { return {}; }
    // That of one rank, in a step that is known to be whole. -DER_NONEXIST.
    std::vector<std::byte> fetch_metadata(std::uint64_t step, std::uint32_t rank);
    // Whether the step was published, be it damaged.
    virtual bool published(std::uint64_t step);
    // How many steps were published, of those from `first` on, which are a row without gaps.
    std::uint64_t count_published(std::uint64_t first);
    // Whether its metadata was removed after it had been published (step_snapshots.h). Such steps come before
    // all others. A call that needs one gives -DER_EP_OLD.
    virtual bool gone(std::uint64_t /*step*/) { return false; }
    std::uint64_t first_kept(std::uint64_t step); // from `step` on
    std::uint64_t requests() const { return requests_; }

protected:
    std::uint64_t requests_ = 0;
};

struct DataStore; // data_store.h
extern const DataStore data_in_arrays, data_in_files;

// How a layout keeps the metadata of a step. Its requests can be foretold by this (sim/estimate).
enum class MetadataPlaces : std::uint8_t {
    other,  // in a way of its own: it can be simulated, not estimated
    files,  // rank 0 gathers them, and writes them to files
    values, // each is a value of a key-value
    dense,  // one after the other in an array, where the ranks agree; a key tells readers their sizes
    slots,  // in slots of an array, each of a chunk; metadata that is larger lies in the side object
    rows,   // the same with slots of the metadata's sizes, which stay for a row of steps (adaptive_rows.h)
};
std::string_view name_of(MetadataPlaces places);

struct Layout {
    std::string_view name; // as users write it
    std::uint8_t number;   // in the record of a stream: never changes
    MetadataPlaces places = MetadataPlaces::other;
    // Of the metadata array, bytes: what a user gets who does not say, and the least that he may say.
    std::uint64_t chunk_size = 1 << 20;
    std::uint64_t least_chunk_size = 1;
    // Of slots of one chunk, before those of the steps, if the steps do not begin at byte 0. They hold each
    // rank's first copies (LayoutWriter::store_copy).
    std::uint64_t rows_of_copies = 0;
    bool chooses_chunks = false; // by the targets that they lie on: the record says how many there are
    const DataStore* data = &data_in_arrays;
    // Of the metadata objects, also where there is one for each step or rank. Those of one for all may be the
    // side object: then this type is that of the others.
    ObjectType metadata_type = ObjectType::array_bytes;
    // Why it can have one metadata object only; empty: it can have one for each step or rank.
    std::string_view one_object_because = {};
    // Whether it can have one for each machine.
    bool objects_of_machines = false;
    // Whether one rank can store for several (aggregation.h). For that no rank waits for another in it.
    bool aggregates = false;
    // rank: whose metadata it stores. With an aggregator that is the number of a row of ranks.
    std::unique_ptr<LayoutWriter> (*writer)(const LayoutContext&, Communicator&, std::uint32_t rank);
    std::unique_ptr<LayoutReader> (*reader)(const LayoutContext&);
    // Frees the space of what lies after the steps before `end`, of which the last is in the segment and
    // whole. Nobody writes the segment any more. nullptr: all of it lies in the side object, in keys that
    // begin with "Step<N>". Those are removed for every layout, as are the objects of steps (per-step).
    void (*trim)(const LayoutContext&, std::uint64_t end) = nullptr;
};

// Whether the record says that all of the step was stored. Then there is no need to look first.
inline bool is_stored(const StreamRecord& record, std::uint64_t step)
{
    return record.in_place() ||
           (record.closed && step < record.steps); // in place: it is read at its snapshot
}

// What reads a segment, however its steps are kept, and what stores this rank's metadata of one: use these,
// not Layout::reader and Layout::writer.
std::unique_ptr<LayoutReader> open_layout(const LayoutContext& context);
std::unique_ptr<LayoutWriter> open_layout_to_write(const LayoutContext& context, Communicator& communicator);

// For the fields `writer` and `reader`.
template <class Writer>
std::unique_ptr<LayoutWriter> make_layout_writer(const LayoutContext& context, Communicator& communicator,
                                                 std::uint32_t rank)
{
    return std::make_unique<Writer>(context, communicator, rank);
}
template <class Reader>
std::unique_ptr<LayoutReader> make_layout_reader(const LayoutContext& context)
{
    return std::make_unique<Reader>(context);
}

// All there are; the first is the default.
const std::vector<const Layout*>& layouts();
const Layout* find_layout(std::uint8_t number);      // nullptr: there is none
const Layout& layout_of(const StreamRecord& record); // -DER_DF_INCOMPT: there is none
const Layout& layout_named(std::string_view name);   // -DER_INVAL with the valid names; "": the default

// Frees the space of all metadata after the steps before `end`: see Layout::trim.
void trim_steps(Container& container, const LayoutContext& context, std::uint64_t end);
// All metadata of a segment but the side object. Of one whose layout may be another than the record says.
void destroy_metadata(Container& container, const StreamRecord& segment);
// Removes the keys "Step<N>" and "Step<N>-..." of the steps from `end` on.
void trim_keys(KeyValue& keys, std::uint64_t end);
void shorten(Array array, std::uint64_t bytes); // never makes it longer

// Metadata that a later step refers to, or, where it is damaged, the copy of the part that matters.
std::vector<std::byte> fetch_known(LayoutReader& layout, const KeyValue& side, const StreamRecord& record,
                                   std::uint64_t step, std::uint32_t rank, MetadataPart part);

// The header in a slot whose metadata lies in the side object, and that metadata. -DER_CSUM: it is not there.
MetadataHeader overflow_header(const StreamRecord& record, std::uint64_t step, std::uint32_t rank,
                               std::uint64_t length);
std::vector<std::byte> overflowed_metadata(const KeyValue& side, const StreamRecord& record,
                                           std::uint64_t step, std::uint32_t rank);
// Room for metadata that is somewhat larger than that of the step before.
std::size_t room_for(std::size_t size);

// "Step<N>-Rank<R>"; of steps in one place "Rank<R>".
std::string metadata_key(const StreamRecord& record, std::uint64_t step, std::uint32_t rank);
// "Step<N><end>"; of steps in one place `in_place`.
std::string step_key(const StreamRecord& record, std::uint64_t step, std::string_view end,
                     std::string_view in_place);

// The buffer for the metadata of one step. Each rank has a slot as large as its metadata is expected to be,
// by that of the step before. So no size must be asked for. Metadata that is larger is fetched again.
class MetadataCollector {
public:
    explicit MetadataCollector(const LayoutContext& context);
    ~MetadataCollector();
    MetadataCollector(MetadataCollector&&) noexcept = default;
    MetadataCollector& operator=(MetadataCollector&&) noexcept = delete;
    MetadataCollector(const MetadataCollector&) = delete;
    MetadataCollector& operator=(const MetadataCollector&) = delete;
    // Others for the `count` steps from `first` on, with the sizes that this one expects.
    std::vector<MetadataCollector> others(std::uint64_t first, std::uint64_t count) const;
    void expect_like(const MetadataCollector& other) { expected_ = other.expected_; } // with as many in sight
    void begin(std::uint64_t step); // forgets another step's metadata; keeps that of this one
    // The first rank without metadata; ranks() when there is none.
    std::uint32_t missing() const { return missing_; }
    std::uint32_t ranks() const { return ranks_; }
    // The ranks that have slots: those before this one. Only the metadata of each of them makes room for
    // more, so a record that says more ranks than have written takes no memory for them.
    std::uint32_t in_sight() const { return static_cast<std::uint32_t>(sizes_.size()); }
    bool look_further(); // false: no rank is left; call it only where none in sight is missing
    bool has(std::uint32_t rank) const { return sizes_[rank] != 0; }
    MutableBytes slot(std::uint32_t rank);
    void set(std::uint32_t rank, std::size_t size);                // the slot holds its metadata of that size
    void set(std::uint32_t rank, std::vector<std::byte> metadata); // metadata that did not fit
    void finish(StepMetadata& into); // gives it the memory; all of it was opened

private:
    MetadataCollector(std::uint32_t ranks, std::size_t expected_size, std::vector<std::size_t> expected);
    void place_slots();
    static constexpr std::uint64_t no_begin = UINT64_MAX;
    std::uint64_t step_ = no_begin;
    std::uint32_t missing_ = 0;
    std::uint32_t ranks_;
    std::size_t expected_size_; // of a rank of which no metadata was seen
    std::vector<std::size_t> expected_;
    std::vector<std::size_t> slots_; // offsets, and the end
    std::vector<std::size_t> sizes_;
    std::vector<std::vector<std::byte>> large_;
    std::shared_ptr<SpareBuffers> spares_ = std::make_shared<SpareBuffers>();
    std::vector<std::byte> buffer_; // of any content: each slot is read, or its metadata is not there
};

} // namespace stepstore::steps

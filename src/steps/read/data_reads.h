// Collects the reads of several gets, so that they go to the store together: one vector read per data object.
// What several of them want is read once.
//
// Only the bytes of a selection are fetched. Gaps of up to 4 KiB between two runs are read too, because a
// further range costs more. A run that lies in one piece in the block and in the program's memory is read
// straight into that memory. A compressed block is fetched whole and decompressed once per run, however many
// gets want parts of it.
//
// Where the metadata have checksums of the data, the pieces that a selection overlaps are fetched whole, and
// verified. So are compressed blocks. Damage is found at a second look (base/second_look.h).
//
// Threads: one at a time, as the Reader. Errors: -DER_CSUM for a block that does not match, and what `read`
// throws.
#pragma once

#include "base/function_ref.h"
#include "steps/block_operator.h"
#include "steps/layouts/data_store.h"
#include "steps/metadata/data_sums.h"
#include "steps/read/hyperslab.h"

#include <map>
#include <memory>

namespace stepstore::steps {

class DataReads {
public:
    explicit DataReads(Order order) : order_(order) {}

    // The part of `box` that `block` covers. block's packed elements lie at data_at of the place's data;
    // box's belong to memory. sums: of the step's data; nullptr: none.
    void add(const DataPlace& place, std::uint64_t data_at, BoxView block, BoxView box, std::byte* memory,
             std::size_t element_size, std::shared_ptr<const DataSums> sums);
    // The same of a block that is compressed. what: names it, for errors.
    struct Compressed {
        DataPlace place;
        std::uint64_t at; // in the place's data, bytes
        std::uint64_t stored_bytes;
        std::uint64_t raw_bytes;
        Codec codec;
        std::uint64_t checksum; // of the stored bytes
        VariableId variable;
    };
    void add(const Compressed& stored, BoxView block, BoxView box, std::byte* memory,
             std::size_t element_size, FunctionRef<std::string()> what);
    bool empty() const { return segments_.empty() && compressed_.empty(); }
    // For blocks of operators, instead of decompress().
    void undo_operators(UndoOperator undo) { undo_ = std::move(undo); }
    // Fetches everything; afterwards, also after an error, nothing is left to do.
    void run(FunctionRef<void(std::span<DataRequest>)> read);
    void clear();
    // Nothing of what waits goes into this memory any more.
    void forget(MutableBytes memory) noexcept;
    // Of the last run: as stored.
    std::uint64_t bytes() const { return bytes_; }
    std::uint64_t requests() const { return requests_; }
    // Whether checksums of the metadata showed that the last run() read what the writer had written.
    bool verified() const { return verified_; }

private:
    struct Segment { // what is read in one piece
        std::uint64_t begin;
        std::uint64_t length;
        std::byte* direct;      // nullptr: through the staging memory, then `copies`
        std::size_t first_copy; // in copies_, one after the other
        std::size_t copies;
        const DataSums* sums; // one of sums_
        DataSpan covered() const;
    };
    struct Copy {
        std::uint64_t from; // in the segment
        std::byte* to;
        std::uint64_t length;
    };
    struct Packed { // a compressed block and what is wanted of it
        Compressed stored;
        std::string what;
        std::vector<Copy> copies; // from its raw bytes
    };
    void unpack(const Packed& block, Bytes stored, std::vector<std::byte>& raw) const;
    void unpack_whole(const Packed& block, Bytes stored, MutableBytes raw) const;
    struct Fetch { // of one place: what is read in one piece for the segments that want a part of it
        DataPlace place;
        std::uint64_t begin;
        std::uint64_t length;
        std::byte* memory; // nullptr: staging memory that is still to be given
        std::span<const Segment> wanted;
        const Packed* packed; // or this block
        const DataSums* sums;
    };
    static void join(const DataPlace& place, std::vector<Segment>& segments, std::vector<Fetch>& into);
    static std::vector<DataRequest> requests_for(std::span<const Fetch> fetches);
    using Read = FunctionRef<void(std::span<DataRequest>)>;
    static void verify(const Fetch& fetch, Read read);
    static void deliver(const Fetch& fetch, std::span<const Copy> copies);
    void add_run(std::uint64_t source, std::byte* target, std::uint64_t length, bool fresh,
                 const DataSums* sums);

    Order order_;
    UndoOperator undo_;
    std::map<DataPlace, std::vector<Segment>> segments_;
    std::vector<std::shared_ptr<const DataSums>> sums_; // that segments point at
    std::vector<Copy> copies_;
    std::map<std::pair<DataPlace, std::uint64_t>, Packed> compressed_; // by place, and where in its data
    std::uint64_t bytes_ = 0;
    std::uint64_t requests_ = 0;
    bool verified_ = false;
    std::vector<Segment>* current_ = nullptr;
};

} // namespace stepstore::steps

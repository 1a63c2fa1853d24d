// The data blocks of the step that is open, on their way to the rank's data object. A block's place is
// settled when it is put (of those that may be compressed: when they are), so blocks may go in any order.
// Large ones are written from the program's memory, small ones are copied together when they are put. All
// that is due goes in one request. Large blocks that must be fetched are written in pieces when they are put.
// Threads: one at a time, as the Writer. Errors: those of the DataWriter; the caller's step is lost then.
#pragma once

#include "steps/block_operator.h"
#include "steps/layouts/data_store.h"
#include "steps/metadata/encoder.h"
#include "steps/profile/profile.h"
#include "steps/write/pieces.h"
#include "steps/write/staging.h"

#include <utility>

namespace stepstore::steps {

// Of the blocks of a step: copies of them, and spans.
struct StagedMemory {
    Staging copies, spans;
    void clear(bool all_used)
    {
        copies.clear(all_used);
        spans.clear(all_used);
    }
};

class DataPuts {
public:
    struct Block {
        std::uint64_t at;    // in the rank's data, bytes
        std::uint64_t bytes; // more than 0
        const std::byte* memory;
        std::uint32_t entry; // in the encoder, for min and max
        Type type;
        // its place is settled only when it is on its way, once its stored length is known
        bool to_place = false;
        Compression compression{};
        BlockOperator* through = nullptr; // instead of the compression; lives until clear()
    };

    // From now on, of what is written in a step: sums().
    void keep_sums() { keeps_sums_ = true; }
    // nullptr: they are not kept.
    DataSums* sums() { return keeps_sums_ ? &sums_ : nullptr; }
    // From now on all that perform() writes is in memory of ours, which stays until hand_over(). Nothing is
    // written before perform(), so that memory grows with the step.
    void keep_memory() { keeps_memory_ = true; }
    // Swaps it for other memory, which is free; spans that the program still fills stay.
    void hand_over(StagedMemory& to)
    {
        std::swap(to.copies, staged_.copies);
        if (waiting_.empty() && elements_.empty()) std::swap(to.spans, staged_.spans);
    }
    // Of blocks that are fetched, and chunk: bytes of the data's chunks, where they end. Before the first
    // block.
    void put_in(Pieces pieces, std::uint64_t chunk)
    {
        pieces_ = std::move(pieces);
        chunk_ = chunk;
    }
    // Their memory. No block is fetched in pieces after it.
    void end_pieces() { pieces_ = Pieces(); }
    void clear();
    // Its memory must stay until perform().
    void defer(const Block& block) { waiting_.push_back({block, Source::program}); }
    // The memory is free again on return: it is copied, or what its compression leaves of it.
    void copy(const Block& block, Encoder& encoder, DataWriter& data, Profile& profile);
    // The memory is free again on return: the block is written at once.
    void put_now(const Block& block, Encoder& encoder, DataWriter& data, Profile& profile);
    // Its elements are fetched before it returns. A block of at least two pieces is written then, unless all
    // is kept, or it may be compressed. measured: its min and max are known.
    void put_from(Block block, bool measured, Fetch fetch, Encoder& encoder, DataWriter& data,
                  Profile& profile);
    // Of a block of one element, which goes into the metadata.
    std::span<std::byte> span_element(std::uint32_t entry, std::size_t size);
    std::span<std::byte> span(Block block, bool measured = false); // as above
    // Everything that waits; spans, which the program may fill until the step ends, only with `spans`.
    void perform(bool spans, Encoder& encoder, DataWriter& data, Profile& profile);

private:
    enum class Source : std::uint8_t { copied, program, span }; // in the order in which they go
    struct Waiting {
        Block block;
        Source source;
        bool measured = false;
    };
    struct Element {
        const std::byte* memory;
        std::uint32_t entry;
    };
    static void measure(std::span<Waiting> blocks, Encoder& encoder, Profile& profile);
    void settle(Waiting& one, Encoder& encoder, Profile& profile);
    void take_copy(Waiting& one);
    void copy_waiting(Waiting now, Encoder& encoder, DataWriter& data, Profile& profile);
    void add_copied(const Waiting& one, Encoder& encoder, DataWriter& data, Profile& profile);
    void put_pieces(const Block& block, bool measured, Fetch fetch, Encoder& encoder, DataWriter& data,
                    Profile& profile);
    bool copies_are_full() const;
    std::optional<Bytes> packed(const Block& block, const Encoder& encoder);
    void perform_waiting(bool spans, Encoder& encoder, DataWriter& data, Profile& profile);
    void write_copies(Encoder& encoder, DataWriter& data, Profile& profile);
    void write(std::span<const Waiting> due, DataWriter& data, Costs& costs);

    Compressor compressor_;
    std::vector<Waiting> waiting_;
    std::vector<Element> elements_; // spans
    StagedMemory staged_;
    bool keeps_memory_ = false;
    Pieces pieces_;
    std::uint64_t chunk_ = 1;
    std::vector<Range> ranges_;
    std::vector<Bytes> memory_;
    bool keeps_sums_ = false;
    DataSums sums_;
    DataSums fresh_; // of the write that is under way
};

} // namespace stepstore::steps

// The data blocks of the step that is open, on their way to the rank's data object. A block's place is
// settled when it is put (of those that may be compressed: when they go), so blocks may go in any order.
// Large ones are written from the program's memory, small ones are copied together; all that is due goes in
// one request.
#pragma once

#include "steps/block_operator.h"
#include "steps/codec/encoder.h"
#include "steps/layouts/data_store.h"
#include "steps/profile/profile.h"

#include <deque>

namespace stepstore::steps {

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

    explicit DataPuts(std::uint64_t gather_below) : gather_below_(gather_below) {}
    void clear();
    void defer(const Block& block);
    // A block of one element, which goes into the metadata: nothing else of it is left to do.
    void defer_element(std::uint32_t entry, const void* memory)
    {
        elements_.push_back({static_cast<const std::byte*>(memory), entry, false});
    }
    std::span<std::byte> span_element(std::uint32_t entry, std::size_t size);
    // The memory is free again on return.
    void put_now(const Block& block, Encoder& encoder, DataWriter& data, Profile& profile);
    std::span<std::byte> span(Block block);
    // Everything that waits; spans, which the program may fill until the step ends, only with `spans`.
    void perform(bool spans, Encoder& encoder, DataWriter& data, Profile& profile);

private:
    enum class Source : std::uint8_t { program, staged, span };
    struct Waiting {
        Block block;
        Source source;
        std::size_t staged_at; // of staged ones
    };
    struct Element {
        const std::byte* memory;
        std::uint32_t entry;
        bool span;
    };
    static void measure(const Block& block, Encoder& encoder);
    std::size_t stage(Bytes bytes);
    bool gathered(const Waiting& one) const; // to be copied together with others
    void settle(Waiting& one, Encoder& encoder, Profile& profile);
    std::optional<Bytes> packed(const Block& block, const Encoder& encoder);
    void perform_waiting(bool spans, Encoder& encoder, DataWriter& data, Profile& profile);
    void perform_elements(bool spans, Encoder& encoder);
    void write(std::span<const Waiting> due, DataWriter& data, Profile& profile);

    std::uint64_t gather_below_;
    Compressor compressor_;
    std::vector<Waiting> waiting_;
    std::vector<Element> elements_;
    std::vector<std::byte> staging_;
    std::deque<std::vector<std::byte>> spans_;
    std::vector<Range> ranges_;
    std::vector<Bytes> memory_;
};

} // namespace stepstore::steps

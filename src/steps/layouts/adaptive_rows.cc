#include "steps/layouts/adaptive_rows.h"

#include "base/record.h"
#include "steps/metadata/rank_metadata.h"

#include <daos_errno.h>

#include <algorithm>
#include <span>

namespace stepstore::steps {

namespace {

constexpr std::uint32_t slots_magic = 0x4c535353; // "SSSL"
constexpr std::uint64_t spread = 16;              // chunks that few ranks are spread over
constexpr std::uint64_t most_in_chunk = 8;        // slots: a target serves them in turn
constexpr std::uint64_t row_growth = 8;
constexpr std::uint64_t most_in_row = std::uint64_t{1} << 56; // bytes of a step's slots

std::uint64_t aligned(std::uint64_t value, std::uint64_t to)
{
    return (value + to - 1) / to * to;
}

} // namespace

std::uint64_t row_of(std::uint64_t index)
{
    if (index == 0) return 0;
    std::uint64_t first = 1;
    while (index / row_growth >= first)
        first *= row_growth;
    return first;
}

std::uint64_t end_of_row(std::uint64_t first_index)
{
    return first_index == 0 ? 1 : first_index * row_growth;
}

std::uint64_t Slots::step_at(std::uint64_t step) const
{
    const std::uint64_t number = at_0 ? 0 : step - first;
    std::uint64_t at = 0;
    if (__builtin_mul_overflow(number / together, stride, &at) ||
        __builtin_add_overflow(at, number % together * size, &at) || __builtin_add_overflow(at, begin, &at) ||
        at > static_cast<std::uint64_t>(INT64_MAX) - stride)
        throw Error(-DER_OVERFLOW,
                    "step " + std::to_string(step) + " lies beyond the end of the largest possible array");
    return at;
}

std::uint64_t Slots::at(std::uint64_t step) const
{
    if (!choice.chooses()) return step_at(step) + chunk * chunk_size + place;
    return choice.chosen(step_at(step) / chunk_size, chunk) * chunk_size + place;
}

std::uint64_t Slots::end(std::uint64_t row_end) const
{
    if (at_0) return 0;
    const std::uint64_t rest = (row_end - first) % together; // in a stride that is not full
    return step_at(row_end) + (rest == 0 ? 0 : stride - rest * size);
}

Row::Row(const StreamRecord& record, std::uint64_t first, std::vector<std::uint64_t> sizes,
         std::vector<std::uint64_t> begins)
    : first_(first), end_(record.first_step + end_of_row(first - record.first_step)),
      chunk_(record.chunk_size), of_ranks_(record.objects == Objects::per_writer),
      at_0_(record.begins_at_0()), sizes_(std::move(sizes)), begins_(std::move(begins)), choice_(record)
{
    if (of_ranks_) return;
    const std::uint64_t most = std::min((sizes_.size() + spread - 1) / spread, most_in_chunk);
    std::uint64_t at = 0, there = 0;
    for (const std::uint64_t size : sizes_) {
        if (at % chunk_ == 0) there = 0;
        if (there == most || at % chunk_ + size > chunk_) at = aligned(at, chunk_), there = 0;
        places_.push_back(at);
        at += size;
        ++there;
    }
    chunks_ = aligned(at, chunk_) / chunk_;
}

Slots Row::of(std::uint32_t rank) const
{
    Slots slots{first_, 0, sizes_[rank], 0, 0, 0, 1, at_0_, chunk_, choice_};
    if (of_ranks_) {
        slots.begin = begins_[rank];
        slots.stride = chunk_;
        slots.together = chunk_ / sizes_[rank];
    } else {
        slots.begin = begins_.front();
        slots.stride = choice_.span(chunks_) * chunk_;
        slots.chunk = places_[rank] / chunk_;
        slots.place = places_[rank] % chunk_;
    }
    return slots;
}

std::vector<std::uint64_t> Row::places(std::uint64_t step) const
{
    std::vector<std::uint64_t> at;
    if (of_ranks_) {
        for (std::uint32_t rank = 0; rank < sizes_.size(); ++rank)
            at.push_back(of(rank).at(step));
        return at;
    }
    const auto chunks = choice_.chosen(of(0).step_at(step) / chunk_, 0, chunks_);
    for (const std::uint64_t place : places_)
        at.push_back(chunks[place / chunk_] * chunk_ + place % chunk_);
    return at;
}

std::vector<std::uint64_t> Row::ends() const
{
    std::vector<std::uint64_t> ends;
    for (std::uint32_t i = 0; i < begins_.size(); ++i)
        ends.push_back(of(i).end(end()));
    return ends;
}

std::vector<std::byte> encode_row(const Row& row)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    to.fixed(slots_magic);
    to.fixed(row.first());
    to.fixed(row.begins().front());
    for (const std::uint64_t size : row.sizes())
        to.varint(size);
    for (const std::uint64_t begin : std::span(row.begins()).subspan(1))
        to.varint(begin);
    append_checksum(bytes);
    return bytes;
}

Row decode_row(Bytes bytes, std::uint64_t first, const StreamRecord& record)
{
    const std::string what = "the record of the slots of metadata from step " + std::to_string(first) + " on";
    const auto body = unseal_end(bytes);
    if (!body) throw Error(-DER_CSUM, what + " is damaged: its checksum does not match");
    WireReader from(*body, what);
    if (from.fixed<std::uint32_t>() != slots_magic || from.fixed<std::uint64_t>() != first)
        from.fail("does not begin with its magic number");
    std::vector<std::uint64_t> begins = {from.fixed<std::uint64_t>()};
    std::vector<std::uint64_t> sizes;
    std::uint64_t sum = 0;
    for (std::uint32_t rank = 0; rank < record.ranks; ++rank) {
        const std::uint64_t size = from.varint();
        if (size < metadata_header_size || size > record.chunk_size || size > most_in_row - sum)
            from.fail("gives impossible sizes");
        sum += size;
        sizes.push_back(size);
    }
    while (record.objects == Objects::per_writer && begins.size() < record.ranks)
        begins.push_back(from.varint());
    if (!from.at_end()) from.fail("has bytes left over");
    return {record, first, std::move(sizes), std::move(begins)};
}

} // namespace stepstore::steps

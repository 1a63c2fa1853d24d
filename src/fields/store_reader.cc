// A field that was removed shows by itself: its object is destroyed as a whole, so the read meets the end too
// early.
#include "fields/store_reader.h"

#include "base/checksum.h"
#include "base/second_look.h"
#include "fields/session.h"

#include <daos_errno.h>

#include <algorithm>
#include <deque>
#include <numeric>

namespace stepstore::fields {

namespace {

constexpr std::size_t most_reads = 32;                  // in flight
constexpr std::uint64_t much = std::uint64_t{64} << 20; // bytes

[[noreturn]] void gone(const Dataset& dataset, std::uint64_t object)
{
    dataset.require_there();
    throw Error(-DER_STALE,
                "the field in object " + std::to_string(object) + " of " + dataset.name() +
                    " does not exist any longer. Either it was replaced or removed, and a purge reclaimed "
                    "its space: look it up again. Or the pool is damaged: stepstore pool check says what can "
                    "be saved");
}

// What is read of one object in one request.
struct ObjectRead {
    ObjectRead(const Dataset& dataset, std::uint64_t number)
        : object(number), array(dataset.data_array(number))
    {
    }

    std::uint64_t object;
    Array array;
    std::vector<Range> ranges;
    std::vector<MutableBytes> memory;
    std::vector<std::pair<FieldLocation, MutableBytes>> summed; // fields with checksums
    Pending pending;
};

} // namespace

void StoreReader::read(const FieldLocation& location, std::uint64_t offset, MutableBytes memory) const
{
    const Dataset& dataset = *dataset_;
    if (offset > location.length || memory.size() > location.length - offset)
        throw Error(-DER_INVAL, "read " + std::to_string(memory.size()) + " bytes from " +
                                    std::to_string(offset) + " of the field " + location.text() + " of " +
                                    dataset.name() + ": it has " + std::to_string(location.length) +
                                    " bytes");
    if (memory.empty()) return;
    require(location.object, location.offset + offset, memory);
}

void StoreReader::require(std::uint64_t object, std::uint64_t at, MutableBytes memory) const
{
    const Dataset& dataset = *dataset_;
    const ReadResult result = dataset.guarded([&] { return dataset.data_array(object).read(at, memory); });
    if (result.cells_short > 0) gone(dataset, object);
}

// The second look is into other memory: a program may have given its own to two fields.
void StoreReader::verify(const FieldLocation& location, MutableBytes memory) const
{
    if (!location.checksum) return;
    MutableBytes found = memory;
    std::vector<std::byte> again;
    const bool right = right_at_second_look([&] { return checksum(found) == *location.checksum; },
                                            [&] {
                                                again.resize(memory.size());
                                                found = again;
                                                if (!again.empty())
                                                    require(location.object, location.offset, found);
                                            });
    if (!right)
        throw Error(-DER_CSUM, "the field " + location.text() + " of " + dataset_->name() +
                                   " is damaged: its checksum does not match: archive it again; other fields "
                                   "can be read");
    if (!again.empty()) std::ranges::copy(found, memory.begin());
}

void StoreReader::read(const FieldLocation& location, MutableBytes memory) const
{
    read(location, 0, memory);
    if (memory.size() == location.length) verify(location, memory);
}

std::vector<std::byte> StoreReader::read(const FieldLocation& location) const
{
    // Only the location says how many they are.
    if (location.length > much && !exists(location)) gone(*dataset_, location.object);
    std::vector<std::byte> bytes(location.length);
    read(location, bytes);
    return bytes;
}

void StoreReader::read(std::span<const FieldLocation> locations, std::span<const MutableBytes> memory) const
{
    const Dataset& dataset = *dataset_;
    if (locations.size() != memory.size())
        throw Error(-DER_INVAL, "read " + std::to_string(locations.size()) + " fields of " + dataset.name() +
                                    " into " + std::to_string(memory.size()) +
                                    " pieces of memory: give one for each");
    std::vector<std::size_t> order(locations.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {},
                      [&](std::size_t i) { return std::pair(locations[i].object, locations[i].offset); });
    dataset.guarded([&] {
        EventQueue queue = dataset.session().pool().event_queue();
        std::deque<ObjectRead> reads;
        const auto wait_oldest = [&] {
            reads.front().pending.wait();
            if (reads.front().pending.cells_short() > 0) gone(dataset, reads.front().object);
            for (const auto& [field, bytes] : reads.front().summed)
                verify(field, bytes);
            reads.pop_front();
        };
        for (auto at = order.begin(); at != order.end();) {
            const std::uint64_t object = locations[*at].object;
            std::optional<ObjectRead> one;
            std::uint64_t end = 0; // after the range before: ranges of one request must not overlap
            for (; at != order.end() && locations[*at].object == object; ++at) {
                const FieldLocation& field = locations[*at];
                if (memory[*at].size() != field.length)
                    throw Error(-DER_INVAL, "read field " + field.text() + " of " + dataset.name() +
                                                " into " + std::to_string(memory[*at].size()) +
                                                " bytes: give memory of the field's length");
                if (field.length == 0) continue;
                if (one && field.offset < end) break; // asked for twice
                if (!one) one.emplace(dataset, object);
                if (one->ranges.empty() || field.offset != end)
                    one->ranges.push_back({field.offset, field.length});
                else
                    one->ranges.back().length += field.length;
                if (!one->memory.empty() && field.offset == end &&
                    one->memory.back().data() + one->memory.back().size() == memory[*at].data())
                    one->memory.back() = {one->memory.back().data(),
                                          one->memory.back().size() + field.length};
                else
                    one->memory.push_back(memory[*at]);
                if (field.checksum) one->summed.emplace_back(field, memory[*at]);
                end = field.offset + field.length;
            }
            if (!one) continue;
            if (reads.size() == most_reads) wait_oldest();
            ObjectRead& started = reads.emplace_back(*std::move(one));
            started.pending = started.array.read(queue, started.ranges, started.memory);
        }
        while (!reads.empty())
            wait_oldest();
    });
}

bool StoreReader::exists(const FieldLocation& location) const
{
    const Dataset& dataset = *dataset_;
    if (location.length == 0) return dataset.is_there();
    return dataset.guarded(
        [&] { return dataset.data_array(location.object).size() >= location.offset + location.length; });
}

} // namespace stepstore::fields

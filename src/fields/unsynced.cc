#include "fields/unsynced.h"

#include "fields/session.h"

#include <algorithm>

namespace stepstore::fields {

namespace {

constexpr std::uint64_t piece = 16 << 20; // bytes read at once

} // namespace

void Unsynced::add(const FieldLocation& location)
{
    if (location.length == 0) return;
    FieldLocation* const last = fields_.empty() ? nullptr : &fields_.back();
    if (last != nullptr && last->object == location.object && last->offset + last->length == location.offset)
        last->length += location.length;
    else
        fields_.push_back({location.object, location.offset, location.length});
}

void Unsynced::sync()
{
    try {
        dataset_->session().sync_flushed();
    } catch (...) {
        failed_ = true;
        throw;
    }
    if (failed_)
        dataset_->guarded([&] { std::ranges::for_each(fields_, [&](const auto& range) { verify(range); }); });
    failed_ = false;
    fields_.clear();
}

// A range that is not there any more was replaced, and a purge has reclaimed its space.
void Unsynced::verify(const FieldLocation& range) const
{
    const Array array = dataset_->data_array(range.object, Verify::yes);
    std::vector<std::byte> bytes(std::min(range.length, piece));
    for (std::uint64_t done = 0; done < range.length; done += bytes.size()) {
        bytes.resize(std::min(range.length - done, piece));
        array.read(range.offset + done, bytes);
    }
}

} // namespace stepstore::fields

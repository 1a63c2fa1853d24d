#include "field_handle.h"

#include "failure.h"
#include "uri.h"

#include "fields/session.h"

#include <algorithm>
#include <cstring>
#include <ostream>

namespace stepstore::fdb_plugin {

eckit::Length FieldHandle::openForRead()
{
    seek(0);
    return estimate();
}

eckit::Length FieldHandle::estimate()
{
    std::uint64_t total = 0;
    for (const auto& part : parts_)
        total += part.location.length;
    return static_cast<long long>(total);
}

eckit::Offset FieldHandle::seek(const eckit::Offset& offset)
{
    const std::size_t before = part_;
    at_ = inside_ = static_cast<std::uint64_t>(std::max(0LL, static_cast<long long>(offset)));
    for (part_ = 0; part_ < parts_.size() && inside_ >= parts_[part_].location.length; ++part_)
        inside_ -= parts_[part_].location.length;
    if (part_ != before) whole_.clear();
    return position();
}

// As many whole fields of one dataset as `to` holds, in flight together.
std::size_t FieldHandle::read_whole_parts(std::byte* to, std::size_t length)
{
    std::vector<fields::FieldLocation> locations;
    std::vector<MutableBytes> memory;
    std::size_t done = 0;
    whole_.clear();
    const auto& dataset = parts_[part_].dataset;
    while (part_ < parts_.size() && parts_[part_].dataset == dataset &&
           parts_[part_].location.length <= length - done) {
        const auto& location = parts_[part_++].location;
        locations.push_back(location);
        memory.emplace_back(to + done, location.length);
        done += location.length;
    }
    const fields::StoreReader store(dataset);
    if (locations.size() == 1) // in this thread: nothing to overlap with
        store.read(locations.front(), memory.front());
    else
        store.read(locations, memory);
    return done;
}

std::size_t FieldHandle::read_part(std::byte* to, std::size_t length)
{
    const Part& part = parts_[part_];
    const std::size_t bytes = std::min<std::size_t>(length, part.location.length - inside_);
    const fields::StoreReader store(part.dataset);
    if (inside_ == 0 && part.location.checksum && whole_.empty()) whole_ = store.read(part.location);
    if (!whole_.empty())
        std::memcpy(to, whole_.data() + inside_, bytes);
    else
        store.read(part.location, inside_, MutableBytes(to, bytes));
    inside_ += bytes;
    if (inside_ == part.location.length) {
        whole_ = {};
        ++part_;
        inside_ = 0;
    }
    return bytes;
}

long FieldHandle::read(void* buffer, long length)
{
    auto* to = static_cast<std::byte*>(buffer);
    const auto wanted = static_cast<std::size_t>(std::max(0L, length));
    std::size_t done = 0;
    translated([&] {
        while (done < wanted && part_ < parts_.size()) {
            const bool whole = inside_ == 0 && parts_[part_].location.length <= wanted - done;
            done += whole ? read_whole_parts(to + done, wanted - done) : read_part(to + done, wanted - done);
        }
    });
    at_ += done;
    return static_cast<long>(done);
}

bool FieldHandle::merge(eckit::DataHandle* other)
{
    auto* fields = dynamic_cast<FieldHandle*>(other);
    if (fields == nullptr) return false;
    parts_.insert(parts_.end(), fields->parts_.begin(), fields->parts_.end());
    return true;
}

bool FieldHandle::compress(bool sorted)
{
    if (sorted) {
        std::stable_sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
            return std::tuple(a.dataset.get(), a.location.object, a.location.offset) <
                   std::tuple(b.dataset.get(), b.location.object, b.location.offset);
        });
    }
    return false;
}

void FieldHandle::print(std::ostream& out) const
{
    out << "FieldHandle[fields=" << parts_.size();
    if (!parts_.empty())
        out << ",first=" << parts_.front().dataset->name() << ' ' << parts_.front().location.text();
    out << ']';
}

} // namespace stepstore::fdb_plugin

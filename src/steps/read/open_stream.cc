#include "steps/read/open_stream.h"

#include <algorithm>

namespace stepstore::steps {

namespace {

// The first step that the segment with that generation does not keep; none of it left: 0.
std::uint64_t kept_until(const StreamRecord& record, std::uint64_t generation)
{
    if (record.generation == generation) return record.closed ? record.steps : no_step;
    const auto found = std::ranges::find(record.earlier, generation, &Segment::generation);
    return found == record.earlier.end() ? 0 : found->end_step;
}

Container container_of(const Pool& pool, const OpenedStream& opened)
{
    Container container = pool.open_container(opened.location.container, Access::read_only);
    return opened.snapshot == 0 ? std::move(container) : container.at_snapshot(opened.snapshot);
}

} // namespace

OpenStream::OpenStream(OpenedStream opened)
    : opened_(std::move(opened)), pool_(Pool::connect(opened_.location.pool, Access::read_only)),
      container_(container_of(pool_, opened_)),
      list_(container_, opened_.location.pool + "/" + opened_.location.container, Access::read_only)
{
    take_record(StreamRecord(opened_.record));
}

const StreamRecord& OpenStream::segment(std::uint64_t generation) const
{
    return segments_.at(generation);
}

const StreamRecord& OpenStream::segment_of(std::uint64_t step) const
{
    const auto& earlier = opened_.record.earlier;
    const auto found = std::ranges::upper_bound(earlier, step, {}, &Segment::end_step);
    return segment(found == earlier.end() ? opened_.record.generation : found->generation);
}

StreamRecord OpenStream::look()
{
    auto now = list_.find(opened_.location.stream);
    if (!now || now->origin != opened_.record.origin) throw replaced_error(opened_.location.text(), now);
    if (now->generation == opened_.record.generation) return std::move(*now);
    for (const auto& [generation, segment] : segments_) {
        const std::uint64_t needed = std::min(seen_, segment.closed ? segment.steps : no_step);
        if (segment.first_step >= needed) continue;
        const std::uint64_t kept = std::max(segment.first_step, kept_until(*now, generation));
        if (kept < needed) throw cut_error(opened_.location.text(), *now, kept);
    }
    return std::move(*now);
}

void OpenStream::take_record(StreamRecord&& record)
{
    for (const Segment& one : record.earlier)
        segments_[one.generation] = segment_record(record, one);
    segments_[record.generation] = segment_record_of(record, no_step);
    opened_.record = std::move(record);
}

void OpenStream::refresh()
{
    take_record(look());
}

void OpenStream::require_current()
{
    look();
}

void OpenStream::keep_readers_profile(std::string_view json) const
{
    const Location& location = opened_.location;
    const Pool pool = Pool::connect(location.pool, Access::read_write);
    const Container container = pool.open_container(location.container, Access::read_write);
    const StreamList list(container, location.pool + "/" + location.container, Access::read_only);
    const auto now = list.find(location.stream);
    if (!now || now->origin != opened_.record.origin) throw replaced_error(location.text(), now);
    container.key_value(now->side).put(profile_key(ProfileSide::readers), as_bytes(json));
}

std::string OpenStream::kept_profile(ProfileSide side) const
{
    const auto kept = container_.key_value(record().side, Access::read_only).get(profile_key(side));
    return kept ? std::string(as_text(*kept)) : std::string();
}

LeaseWatch& OpenStream::writer()
{
    if (!writer_) writer_.emplace(watch_writer(container_, opened_.location.stream));
    return *writer_;
}

void StreamDataReader::open(std::span<const DataRequest> requests)
{
    for (const DataRequest& request : requests) {
        const std::uint64_t generation = request.place.generation;
        auto& reader = readers_[generation];
        if (reader == nullptr)
            reader = layout_of(stream_.record()).data->reader(stream_.context(stream_.segment(generation)));
    }
}

void StreamDataReader::read(std::span<DataRequest> requests)
{
    while (!requests.empty()) { // those of a segment lie together
        const std::uint64_t generation = requests.front().place.generation;
        std::size_t count = 1;
        while (count < requests.size() && requests[count].place.generation == generation)
            ++count;
        readers_.at(generation)->read(requests.first(count));
        requests = requests.subspan(count);
    }
}

} // namespace stepstore::steps

#include "steps/check/check.h"

#include "base/checksum.h"
#include "base/second_look.h"
#include "location/find/location.h"
#include "steps/layouts/data_store.h"
#include "steps/layouts/metadata_objects.h"
#include "steps/read/step_source.h"

#include <algorithm>
#include <set>

namespace stepstore::steps {

namespace {

using Severity = Finding::Severity;

bool is_damage(const Error& error)
{
    return error.code() == -DER_CSUM || error.code() == -DER_DF_INVAL || error.code() == -DER_NONEXIST ||
           error.code() == -DER_INVAL || error.code() == -DER_BADPATH || error.code() == -DER_NOTDIR;
}

class StreamCheck {
public:
    StreamCheck(const Pool& pool, const Container& container, std::string where, const StreamRecord& record,
                bool data, StreamReport& report)
        : where_(std::move(where)), record_(record), context_{pool, container, record_},
          layout_(open_layout(context_)), data_(layout_of(record_).data->reader(context_)),
          side_(container.key_value(record_.side, Access::read_only)),
          decoder_(record.generation, record.ranks), read_data_(data), report_(report)
    {
    }

    StreamSummary run(const std::string& name)
    {
        summary_.name = name;
        summary_.generation = record_.generation;
        summary_.layout = layout_of(record_).name;
        summary_.ranks = record_.ranks;
        summary_.closed = record_.closed;
        std::uint64_t found = 0, last_found = record_.first_step;
        for (std::uint64_t step = record_.first_step; !record_.closed || step < record_.steps; ++step) {
            if (!check_step(step)) break;
            const std::uint64_t now = summary_.whole_steps + summary_.gone_steps;
            if (now > found) last_found = step;
            found = now;
            if (step - last_found < most_lost) continue;
            add(Severity::damage, "step " + std::to_string(step),
                "this step and the " + std::to_string(most_lost) + " before it cannot be read",
                "the steps after it were not looked at");
            break;
        }
        return summary_;
    }

private:
    enum class Found : std::uint8_t { nothing, damaged, whole };

    void add(Severity severity, const std::string& at, std::string what, std::string advice)
    {
        report_.findings.push_back({severity, where_ + " " + at, std::move(what), std::move(advice)});
    }

    Found look(std::uint64_t step, std::uint32_t rank, std::vector<std::byte>& metadata)
    {
        const std::string at = "step " + std::to_string(step) + " rank " + std::to_string(rank);
        try {
            auto found = layout_->find_metadata(step, rank);
            if (!found) return Found::nothing;
            open_metadata(*found, record_.generation, step, rank);
            summary_.metadata_bytes += found->size();
            metadata = std::move(*found);
            return Found::whole;
        } catch (const Error& error) {
            if (!is_damage(error)) throw;
            add(Severity::damage, at, error.what(), "this step cannot be read; the other steps can");
            return Found::damaged;
        }
    }

    // False: nothing of this step is there, so nothing of later ones.
    bool check_step(std::uint64_t step)
    {
        if (layout_->gone(step)) return ++summary_.gone_steps, true;
        StepMetadata fetched;
        fetched.step = step;
        fetched.opened = true;
        Missing missing;
        std::uint32_t damaged = 0, whole = 0;
        for (std::uint32_t rank = 0; rank < record_.ranks; ++rank) {
            std::vector<std::byte> metadata;
            const Found place = look(step, rank, metadata);
            if (place == Found::nothing && missing.count++ == 0) missing.first = rank;
            damaged += place == Found::damaged ? 1 : 0;
            whole += place == Found::whole ? 1 : 0;
            // A record may say any number of ranks.
            missing.not_looked_for = record_.ranks - rank - 1;
            if (missing.count + damaged > std::max(most_missing, whole)) break;
            fetched.by_rank.emplace_back();
            fetched.set(rank, std::move(metadata));
        }
        if (whole + damaged == 0 && !record_.closed) return false;
        if (missing.count != 0) note_missing(step, missing);
        if (damaged != 0)
            ++summary_.damaged_steps;
        else if (missing.count == 0)
            check_whole(std::move(fetched));
        return missing.count == 0 || record_.closed;
    }

    static constexpr std::uint64_t most_lost = 10'000; // steps in a row; a record may say any number

    // Ranks whose metadata is not there. If more are missing than were found, the rest is not looked for.
    struct Missing {
        std::uint32_t count = 0, first = 0, not_looked_for = 0;
    };
    static constexpr std::uint32_t most_missing = 4096;

    void note_missing(std::uint64_t step, const Missing& missing)
    {
        const std::string what =
            "the metadata of " + std::string(missing.not_looked_for != 0 ? "at least " : "") +
            std::to_string(missing.count) + " of " + std::to_string(record_.ranks) +
            " ranks is missing; the first is that of rank " + std::to_string(missing.first);
        const std::string at = "step " + std::to_string(step);
        if (record_.closed) {
            ++summary_.damaged_steps;
            add(Severity::damage, at, what, "this step cannot be read; the other steps can");
            return;
        }
        ++summary_.half_steps;
        add(Severity::info, at, what,
            "a writer is writing it, or died in it (process " + std::to_string(record_.writer_process) +
                " on " + record_.writer_host + "); the steps before it are whole");
    }

    void check_whole(StepMetadata&& fetched)
    {
        const std::uint64_t number = fetched.step;
        const std::string at = "step " + std::to_string(number);
        try {
            const auto step = decoder_.install(
                std::move(fetched), [&](std::uint64_t other, std::uint32_t rank, MetadataPart part) {
                    return fetch_known(*layout_, side_, record_, other, rank, part);
                });
            bool whole = true;
            for (const RankStep& part : step->ranks) {
                walk(part);
                whole &= check_data(part);
            }
            ++(whole ? summary_.whole_steps : summary_.damaged_steps);
        } catch (const Error& error) {
            if (!is_damage(error)) throw;
            ++summary_.damaged_steps;
            add(Severity::damage, at, error.what(), "this step cannot be read; the other steps can");
        }
    }

    // Decodes all that a reader might ask for.
    static void walk(const RankStep& part)
    {
        for (std::uint32_t entry = 0; entry < part.header.entries; ++entry)
            if (part.entry(entry).flags & entry_is_value)
                part.value(entry);
            else
                part.minmax(entry), part.place(entry);
        part.sums();
    }

    bool check_data(const RankStep& part)
    {
        const MetadataHeader& header = part.header;
        if (header.data_length == 0) return true;
        summary_.data_bytes += header.data_length;
        const std::string at = "step " + std::to_string(header.step) + " rank " + std::to_string(header.rank);
        try {
            std::uint64_t end = 0;
            if (__builtin_add_overflow(header.data_base, header.data_length, &end) ||
                end > data_->size(header.rank)) {
                add(Severity::damage, at,
                    "its data lies at " + std::to_string(header.data_base) + ", " +
                        std::to_string(header.data_length) + " bytes, and the data object ends at " +
                        std::to_string(data_->size(header.rank)),
                    "values and attributes of this step can be read; blocks of this rank cannot");
                return false;
            }
            if (read_data_) check_compressed(part), read_all(part);
            return true;
        } catch (const Error& error) {
            if (!is_damage(error)) throw;
            add(Severity::damage, at, std::string("its data cannot be read: ") + error.what(),
                "values and attributes of this step can be read, and the blocks of other ranks");
            return false;
        }
    }

    // False: it is not right, at a second look either.
    bool read_verified(const MetadataHeader& header, std::uint64_t at, MutableBytes memory,
                       FunctionRef<bool()> is_right)
    {
        const auto read = [&] {
            DataRequest request{{header.generation, header.rank}, {{at, memory.size()}}, {memory}};
            data_->read({&request, 1});
        };
        read();
        return right_at_second_look(is_right, read);
    }

    void read_all(const RankStep& part)
    {
        constexpr std::uint64_t at_once = 16 << 20;
        const MetadataHeader& header = part.header;
        const auto sums = part.sums();
        std::vector<std::byte> memory;
        DataSpan next{header.data_base, 0};
        for (const std::uint64_t end = header.data_base + header.data_length; next.begin < end;
             next.begin = next.end()) {
            next.length = std::min(at_once, end - next.begin);
            if (sums != nullptr) next.length = sums->cover(next).end() - next.begin;
            memory.resize(next.length);
            std::optional<std::uint64_t> bad;
            const bool right = read_verified(header, next.begin, memory, [&] {
                if (sums != nullptr) bad = sums->mismatch(next.begin, memory);
                return !bad;
            });
            if (!right)
                throw Error(-DER_CSUM,
                            "the checksum of its bytes from " + std::to_string(*bad) + " on does not match");
        }
    }

    // Compressed blocks by their own checksums: a block says nothing useful when one byte of it is wrong.
    void check_compressed(const RankStep& part)
    {
        std::vector<std::byte> stored;
        for (std::uint32_t entry = 0; entry < part.header.entries; ++entry) {
            if (part.entry(entry).flags & entry_is_value) continue;
            const Placement place = part.place(entry);
            if (place.codec == Codec::none || place.codec == Codec::left_out) continue;
            stored.resize(place.length);
            if (read_verified(part.header, place.at, stored,
                              [&] { return checksum(stored) == place.checksum; }))
                continue;
            const std::uint32_t id = part.mapping->global[part.plan->entries[entry].variable];
            throw Error(-DER_CSUM,
                        (id == Dictionary::none ? std::string("a compressed block")
                                                : "a compressed block of variable '" +
                                                      decoder_.dictionary().variables()[id].name + "'") +
                            " is damaged: its checksum does not match");
        }
    }

    std::string where_;
    StreamRecord record_;
    LayoutContext context_;
    std::unique_ptr<LayoutReader> layout_;
    std::unique_ptr<DataReader> data_;
    KeyValue side_;
    Decoder decoder_;
    bool read_data_;
    StreamReport& report_;
    StreamSummary summary_;
};

void check_unreferenced(const Pool& pool, const Container& container,
                        const std::vector<StreamRecord>& records, const std::string& where,
                        StreamReport& report)
{
    if (!capabilities_of(pool.location()).own_store) return; // no such list there
    const auto ours = static_cast<std::uint32_t>(stream_object_id(container, 0).hi);
    std::set<ObjectId> left;
    for (const ObjectInfo& object : list_objects(container, false))
        if (static_cast<std::uint32_t>(object.id.hi) == ours) left.insert(object.id);
    // A record may say any numbers.
    const auto erase = [&](const ObjectId& first, std::uint64_t count) {
        const std::uint64_t end = first.lo + std::min(count, UINT64_MAX - first.lo);
        left.erase(left.lower_bound(first), left.lower_bound({first.hi, end}));
    };
    for (const StreamRecord& record : records) {
        for (const Segment& one : segments_of(record)) {
            left.erase(one.side);
            erase(one.metadata, count_metadata_objects(container, segment_record(record, one)));
            erase(one.data, one.ranks);
        }
    }
    if (left.empty()) return;
    report.findings.push_back({Severity::reclaimable, where,
                               std::to_string(left.size()) +
                                   " objects belong to no stream; the first has the number " +
                                   std::to_string(left.begin()->lo),
                               "a writer died while it opened or replaced a stream; nothing is lost"});
}

StreamSummary check_stream(const Pool& pool, const Container& container, const std::string& where,
                           const std::string& name, const StreamRecord& record, bool data,
                           StreamReport& report)
{
    const auto check = [&](const StreamRecord& segment) {
        return StreamCheck(pool, container, where, segment, data, report).run(name);
    };
    StreamSummary all = check(segment_record_of(record, no_step));
    all.generation = record.origin;
    all.segments = record.earlier.size() + 1;
    for (const Segment& one : record.earlier) {
        const StreamSummary part = check(segment_record(record, one));
        all.whole_steps += part.whole_steps;
        all.damaged_steps += part.damaged_steps;
        all.gone_steps += part.gone_steps;
        all.metadata_bytes += part.metadata_bytes;
        all.data_bytes += part.data_bytes;
    }
    if (!record.dropped.empty())
        report.findings.push_back(
            {Severity::reclaimable, where,
             std::to_string(record.dropped.size()) +
                 " segments that were cut off the stream may still have objects",
             "a writer died while it removed them; the next writer that opens the stream removes the rest"});
    return all;
}

void check_container(const Pool& pool, const std::string& label, const Location& location, bool data,
                     StreamReport& report)
{
    const std::string where = pool.location() + "/" + label;
    const Container container = pool.open_container(label, Access::read_only);
    const StreamList list(container, where, Access::read_only);
    std::vector<StreamRecord> records;
    bool complete = true;
    bool found = false;
    for (const std::string& name : list.streams()) {
        const bool wanted = !location.stream_given || name == location.stream;
        found |= wanted;
        try {
            const auto record = list.find(name);
            if (!record) continue; // removed meanwhile
            records.push_back(*record);
            if (wanted)
                report.streams.push_back(
                    check_stream(pool, container, where + "/" + name, name, *record, data, report));
        } catch (const Error& error) {
            if (!is_damage(error) && error.code() != -DER_DF_INCOMPT) throw;
            complete = false;
            if (wanted)
                report.findings.push_back({Severity::damage, where + "/" + name, error.what(),
                                           "the stream cannot be opened; its objects are kept"});
        }
    }
    if (location.stream_given && !found)
        throw Error(-DER_NONEXIST, "there is no stream '" + location.stream + "' in " + where);
    if (complete && !location.stream_given) check_unreferenced(pool, container, records, where, report);
}

} // namespace

bool StreamReport::damaged() const
{
    return std::ranges::any_of(findings, [](const Finding& f) { return f.severity == Severity::damage; });
}

StreamReport check_streams(const std::string& text, bool data)
{
    const Location location = resolve_location(text);
    require_pool(location, text);
    const Pool pool = Pool::connect(location.pool, Access::read_only); // cheap: resolving has opened it
    StreamReport report;
    if (location.container_given) {
        check_container(pool, location.container, location, data, report);
        return report;
    }
    for (const ContainerEntry& entry : pool.containers())
        check_container(pool, entry.label.empty() ? entry.uuid : entry.label, location, data, report);
    return report;
}

} // namespace stepstore::steps

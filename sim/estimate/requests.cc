#include "estimate/requests.h"

#include "base/dkey_group.h"
#include "steps/layouts/aggregation.h"
#include "stepstore/libdaos.h"
#include "store/files/container.h"

#include <daos_obj_class.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace stepstore::sim {

namespace {

using steps::MetadataPlaces;
using steps::Objects;

constexpr std::uint64_t description = 130; // bytes of metadata beside the text of the experiment
constexpr std::uint64_t header = steps::metadata_header_size;
constexpr std::uint64_t length_in_bundle = 8; // of each rank's metadata
constexpr std::uint64_t side = UINT32_MAX;    // the number of the key-value for what has no other place
constexpr std::uint64_t usual_room = 4096;    // of a get whose size is not known
constexpr std::uint64_t record_of_snapshot = 29;

Bytes bytes_of(const std::string& text)
{
    return std::as_bytes(std::span(text.data(), text.size()));
}

// Once the calls before have their replies.
void append_waiting(Calls& calls, Calls&& more)
{
    if (more.empty()) return;
    if (!calls.empty()) calls.back().waits = true;
    calls.insert(calls.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::uint32_t target_of(const store::Placement& placement, Bytes dkey)
{
    return placement.group(placement.group_of(dkey)).targets[0];
}

steps::StreamRecord record_of(const Choices& choices, std::uint32_t ranks)
{
    steps::StreamRecord record;
    record.ranks = ranks;
    record.chunk_size = choices.chunk;
    record.objects = choices.objects;
    record.ranks_per_object = choices.ranks_per_object != 0 ? choices.ranks_per_object : ranks;
    record.step_mode = choices.in_place ? steps::StepMode::snapshot : steps::StepMode::extend;
    record.ranks_per_aggregator = choices.ranks_per_aggregator;
    return choices.ranks_per_aggregator > 1 ? steps::record_of_rows(record) : record;
}

} // namespace

std::uint64_t Fetch::steps() const
{
    return std::accumulate(ahead.begin(), ahead.end(), std::uint64_t{1});
}

Choices choices_of(const Machine& machine, const Job& job)
{
    const steps::WriterOptions& writer = job.stream.writer;
    const steps::Layout& layout = steps::layout_named(writer.layout);
    if (layout.places == MetadataPlaces::other)
        refuse_job("Layout=" + std::string(layout.name) + " is not estimated: simulate it");
    Choices choices{layout.places,
                    writer.objects.value_or(Objects::single),
                    writer.ranks_per_object,
                    std::max(writer.ranks_per_aggregator, 1U),
                    writer.step_mode == steps::StepMode::snapshot,
                    writer.chunk_size != 0 ? writer.chunk_size : layout.chunk_size,
                    layout.rows_of_copies,
                    0,
                    job.stream.reader.readers == steps::Readers::delegate ||
                        (job.stream.reader.readers == steps::Readers::automatic && !machine.is_one())};
    const std::string name = writer.object_class.empty() ? "SX" : writer.object_class;
    const int object_class = Library::ours().oclass_name2id(name.c_str());
    const auto groups = static_cast<std::uint64_t>(object_class & MAX_NUM_GROUPS);
    if (groups == 0) refuse_job("there is no object class " + name);
    if (groups != MAX_NUM_GROUPS && groups > machine.all_targets())
        refuse_job("the object class " + name +
                   " needs more targets than the cluster has: " + std::to_string(machine.all_targets()));
    choices.groups = job.in_files ? 1 : std::min(groups, machine.all_targets()); // a pool in files has none
    return choices;
}

Requests::Requests(const Machine& machine, const Job& job, const Choices& choices)
    : machine_(machine), job_(job), choices_(choices), files_(machine),
      record_(record_of(choices, job.experiment.writers)), ranks_(record_.ranks), chunk_(record_.chunk_size)
{
}

std::uint64_t Requests::metadata_size(std::uint64_t step, std::uint32_t writer) const
{
    const std::uint32_t all = job_.experiment.writers, together = choices_.ranks_per_aggregator;
    if (together == 1) return job_.experiment.sizes.at(step, writer, all) + description;
    const std::uint32_t first = writer * together, end = first + std::min(together, all - first);
    std::uint64_t bytes = header;
    for (std::uint32_t rank = first; rank < end; ++rank)
        bytes += job_.experiment.sizes.at(step, rank, all) + description + length_in_bundle;
    return bytes;
}

std::uint64_t Requests::node_of(std::uint32_t writer) const
{
    return std::uint64_t{writer} * choices_.ranks_per_aggregator / machine_.ranks_per_node;
}

std::uint64_t Requests::step_size(std::uint64_t step) const
{
    std::uint64_t all = 0;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank)
        all += metadata_size(step, rank);
    return all;
}

std::uint64_t Requests::end_of_row(std::uint64_t step) const
{
    if (choices_.places != MetadataPlaces::rows) return UINT64_MAX;
    return steps::end_of_row(steps::row_of(step));
}

// ---- where things lie

store::Placement Requests::placement(std::uint64_t object) const
{
    const ObjectId id{std::uint64_t{1} << 48 | choices_.groups << 32, object};
    return store::Placement(0, {id.hi, id.lo}, static_cast<unsigned>(machine_.all_targets()));
}

std::uint64_t Requests::object_of(std::uint64_t step, std::uint32_t rank) const
{
    if (choices_.objects == Objects::per_step) return step;
    if (choices_.objects != Objects::single) return rank / record_.ranks_together();
    return choices_.places == MetadataPlaces::values ? side : 0;
}

std::string Requests::key_of(std::uint64_t step, std::uint32_t rank) const
{
    return steps::metadata_key(record_, step, rank);
}

std::vector<Requests::Slot> Requests::slots(std::uint64_t step) const
{
    const bool of_ranks = choices_.objects == Objects::per_writer;
    const bool at_0 = choices_.in_place || choices_.objects == Objects::per_step;
    if (choices_.places == MetadataPlaces::rows) return adaptive_slots(step);
    std::vector<Slot> slots(ranks_);
    const std::uint64_t begin = at_0 ? 0 : step;
    if (choices_.places == MetadataPlaces::slots) {
        const std::uint32_t together = record_.ranks_together();
        const std::uint64_t row = at_0 ? 0 : step + choices_.rows_of_copies;
        for (std::uint32_t rank = 0; rank < ranks_; ++rank)
            slots[rank] = {(row * together + rank % together) * chunk_, chunk_};
        return slots;
    }
    std::uint64_t at = begin * (of_ranks ? 0 : step_size(step)); // as if all steps were like this one
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
        const std::uint64_t size = metadata_size(step, rank);
        slots[rank] = {of_ranks ? begin * size : at, size};
        at += size;
    }
    return slots;
}

// Rows begin about where they would; the rows before are not looked at.
steps::Row Requests::row_with(std::uint64_t step) const
{
    steps::StreamRecord record = record_;
    const bool of_ranks = choices_.objects == Objects::per_writer;
    record.groups = of_ranks ? 0 : static_cast<std::uint32_t>(choices_.groups);
    const std::uint64_t first = steps::row_of(step);
    std::vector<std::uint64_t> sizes;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank)
        sizes.push_back(std::min<std::uint64_t>(steps::room_for(metadata_size(first, rank)), chunk_));
    const std::uint64_t begin = first * chunk_;
    return {record, first, std::move(sizes),
            std::vector(of_ranks ? ranks_ : 1, of_ranks ? begin : begin * ranks_)};
}

std::vector<Requests::Slot> Requests::adaptive_slots(std::uint64_t step) const
{
    const steps::Row row = row_with(step);
    const std::vector<std::uint64_t> places = row.places(step);
    std::vector<Slot> slots;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank)
        slots.push_back({places[rank], row.sizes()[rank]});
    return slots;
}

// Such metadata lies in the side object.
bool Requests::overflows(std::uint64_t step, std::uint32_t rank, const Slot& slot) const
{
    return metadata_size(step, rank) > slot.bytes;
}

// ---- calls of the library

Call Requests::put(std::uint64_t object, const std::string& key, std::uint64_t bytes) const
{
    const bool is_inline = bytes <= machine_.inline_put;
    return {machine_.call + (is_inline ? 0 : machine_.registration),
            true,
            {{target_of(placement(object), bytes_of(key)), is_inline, machine_.kv_put, bytes, 0}}};
}

Call Requests::get(std::uint64_t object, const std::string& key, std::uint64_t room, std::uint64_t bytes,
                   bool waits) const
{
    const bool is_inline = room <= machine_.inline_get;
    return {machine_.call + (is_inline ? 0 : machine_.registration),
            waits,
            {{target_of(placement(object), bytes_of(key)), is_inline, machine_.kv_get, 0,
              std::min(room, bytes)}}};
}

// One call on one array: a message for each chunk.
Call Requests::access(const std::vector<Piece>& pieces, bool writes, std::uint64_t overwritten) const
{
    struct InChunk {
        std::uint64_t bytes = 0, extents = 0;
    };
    std::map<std::uint64_t, InChunk> chunks;
    for (const Piece& piece : pieces) {
        for (std::uint64_t at = piece.at; at < piece.at + piece.bytes;) {
            const std::uint64_t chunk = at / chunk_;
            const std::uint64_t until = std::min(piece.at + piece.bytes, (chunk + 1) * chunk_);
            InChunk& in = chunks[chunk];
            in.bytes += until - at;
            ++in.extents;
            at = until;
        }
    }
    Call call{machine_.call + machine_.registration, true, {}};
    const store::Placement where = placement(pieces.front().object);
    const double more = machine_.overwritten * static_cast<double>(overwritten);
    for (const auto& [chunk, in] : chunks) {
        const unsigned group = chunk_group(chunk, where.groups());
        call.messages.push_back({where.group(group).targets[0], in.bytes <= machine_.inline_put,
                                 (writes ? machine_.array_write + more : machine_.array_read) +
                                     static_cast<double>(in.extents - 1) * machine_.further_extent,
                                 writes ? in.bytes : 0, writes ? 0 : in.bytes});
    }
    return call;
}

// A call for each object, in flight together.
void Requests::read(const std::vector<Piece>& pieces, Calls& calls) const
{
    const std::uint64_t of_rows = choices_.places == MetadataPlaces::rows ? steps::least_gap - 1 : 0;
    const std::uint64_t gap = job_.in_files ? store::files::joined_gap : of_rows;
    const std::uint64_t most = job_.in_files ? store::files::most_joined : UINT64_MAX;
    std::map<std::uint64_t, std::vector<Piece>> by_object;
    for (const Piece& piece : pieces) {
        std::vector<Piece>& of = by_object[piece.object];
        const bool one_range = !machine_.is_one() && !of.empty() && // Storage::extents_in
                               piece.at - (of.back().at + of.back().bytes) <= gap &&
                               piece.at + piece.bytes - of.back().at <= most;
        if (one_range)
            of.back().bytes = piece.at + piece.bytes - of.back().at;
        else
            of.push_back(piece);
    }
    if (job_.in_files) return read_files(by_object, calls);
    for (const auto& [object, of] : by_object) {
        calls.push_back(access(of, false, 0));
        calls.back().waits = by_object.size() < 2;
    }
}

// All at once, each by a thread. The reader waits for the one with the most to do. The others only keep the
// servers busy.
void Requests::read_files(const std::map<std::uint64_t, std::vector<Piece>>& files, Calls& calls) const
{
    if (files.empty()) return;
    const auto most = std::ranges::max_element(files, {}, [](const auto& one) { return one.second.size(); });
    Calls beside;
    for (auto one = files.begin(); one != files.end(); ++one)
        if (one != most) read_file(one->first, one->second, beside);
    for (Call& call : beside) {
        call.own = 0;
        call.waits = false;
    }
    calls.insert(calls.end(), std::make_move_iterator(beside.begin()), std::make_move_iterator(beside.end()));
    read_file(most->first, most->second, calls);
}

// A range after the other. The node gets the lock of each part of the file once.
void Requests::read_file(std::uint64_t object, const std::vector<Piece>& pieces, Calls& calls) const
{
    std::uint64_t next = 0; // part
    for (const Piece& piece : pieces) {
        const FileRequests::Parts parts = files_.parts_of(piece.at, piece.bytes);
        const bool is_new = parts.end > next;
        const std::size_t before = calls.size();
        files_.read(object, piece.at, piece.bytes, is_new, calls);
        if (!is_new && calls.size() - before > 1) // it has the lock
            calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(before), calls.end() - 1);
        next = std::max(next, parts.end);
    }
}

// ---- writers

void Requests::put_into(std::uint64_t object, const std::string& key, std::uint64_t bytes, Calls& calls) const
{
    if (job_.in_files)
        files_.put(object, bytes, calls);
    else
        calls.push_back(put(object, key, bytes));
}

// With a pool in files: the nodes that write into one part of the file do so one after the other.
double Requests::wait_for_locks(std::uint32_t rank, const Piece& piece, SharedParts& shared) const
{
    const FileRequests::Parts parts = files_.parts_of(piece.at, piece.bytes);
    const double turn = machine_.file_give_back + 4 * machine_.latency +
                        static_cast<double>(machine_.ranks_per_node) * machine_.file_server_request;
    double waits = 0;
    for (std::uint64_t part = parts.first; part < parts.end; ++part)
        waits += turn * static_cast<double>(shared.enter(piece.object, part, node_of(rank)));
    return waits;
}

std::vector<Calls> Requests::of_writers(std::uint64_t step) const
{
    std::vector<Calls> all(ranks_);
    if (choices_.places == MetadataPlaces::files) return all;
    if (choices_.places == MetadataPlaces::values) {
        for (std::uint32_t rank = 0; rank < ranks_; ++rank)
            put_into(object_of(step, rank), key_of(step, rank), metadata_size(step, rank), all[rank]);
        return all;
    }
    SharedParts shared;
    const std::vector<Slot> where = slots(step);
    // Each step but the first overwrites what a snapshot keeps: on average half of all.
    const std::uint64_t overwritten = choices_.in_place ? (job_.experiment.steps - 1) / 2 : 0;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
        const bool elsewhere = overflows(step, rank, where[rank]);
        if (elsewhere) put_into(side, key_of(step, rank), metadata_size(step, rank), all[rank]);
        const Piece piece{object_of(step, rank), where[rank].at,
                          elsewhere ? header : metadata_size(step, rank)};
        if (job_.in_files)
            files_.write(piece.object, piece.at, piece.bytes, wait_for_locks(rank, piece, shared), all[rank]);
        else
            all[rank].push_back(access({piece}, true, overwritten));
    }
    if (choices_.places == MetadataPlaces::dense)
        put_into(side, "Step" + std::to_string(step), 3ULL * ranks_, all[0]);
    return all;
}

// ---- readers

Calls Requests::of_reader(const Fetch& fetch) const
{
    Calls calls;
    fetch_step(fetch.step, calls);
    std::uint64_t next = fetch.step + 1;
    for (const std::uint64_t count : fetch.ahead) {
        fetch_ahead(next, count, calls);
        next += count;
    }
    return calls;
}

// Of a finished stream: nothing is asked for first in arrays.
void Requests::fetch_step(std::uint64_t step, Calls& calls) const
{
    if (choices_.in_place) get_snapshots(step, 1, calls);
    if (choices_.places == MetadataPlaces::values) {
        const std::size_t poll = calls.size();
        get_metadata(step, 1, calls);
        calls[poll].waits = true; // the reader asks first whether the step is there
    } else if (choices_.places == MetadataPlaces::dense) {
        get_sizes(step, 1, calls);
        read_slots(step, 1, calls);
    } else if (choices_.places != MetadataPlaces::files) {
        read_slots(step, 1, calls);
    }
}

void Requests::fetch_ahead(std::uint64_t first, std::uint64_t count, Calls& calls) const
{
    if (choices_.in_place) {
        get_snapshots(first, count, calls);
        for (std::uint64_t step = first; step < first + count; ++step) {
            if (choices_.places == MetadataPlaces::dense) get_sizes(step, 1, calls);
            if (choices_.places == MetadataPlaces::values)
                get_metadata(step, 1, calls);
            else
                read_slots(step, 1, calls);
            calls.back().waits = true;
        }
    } else if (choices_.places == MetadataPlaces::values) {
        get_metadata(first, count, calls);
    } else {
        if (choices_.places == MetadataPlaces::dense) get_sizes(first, count, calls);
        read_slots(first, count, calls);
    }
    if (!calls.empty()) calls.back().waits = true;
}

void Requests::get_snapshots(std::uint64_t first, std::uint64_t count, Calls& calls) const
{
    for (std::uint64_t step = first; step < first + count; ++step)
        calls.push_back(get(side, "Step" + std::to_string(step) + "-Snapshot", usual_room, record_of_snapshot,
                            step + 1 == first + count));
}

void Requests::get_sizes(std::uint64_t first, std::uint64_t count, Calls& calls) const
{
    const std::uint64_t bytes = 28 + ranks_ * (metadata_size(first, 0) < (1 << 14) ? 2ULL : 3ULL);
    for (std::uint64_t step = first; step < first + count; ++step) {
        const std::string key = "Step" + std::to_string(step);
        if (job_.in_files) {
            files_.get(side, bytes, calls);
            continue;
        }
        const bool alone = count == 1; // its size is not known
        calls.push_back(
            get(side, key, alone ? usual_room : bytes + bytes / 8, bytes, step + 1 == first + count));
        if (alone && bytes > usual_room) calls.push_back(get(side, key, bytes, bytes, true));
    }
}

void Requests::get_metadata(std::uint64_t first, std::uint64_t count, Calls& calls) const
{
    Calls again;
    for (std::uint64_t step = first; step < first + count; ++step)
        for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
            const std::uint64_t size = metadata_size(step, rank), room = room_before(first, rank);
            const std::string key = key_of(step, rank);
            if (job_.in_files) {
                files_.get(object_of(step, rank), size, calls);
                continue;
            }
            calls.push_back(get(object_of(step, rank), key, room, size, false));
            if (size > room) get_unknown(object_of(step, rank), key, size, again);
        }
    append_waiting(calls, std::move(again));
}

void Requests::read_slots(std::uint64_t first, std::uint64_t count, Calls& calls) const
{
    std::vector<Piece> pieces;
    Calls again;
    for (std::uint64_t step = first; step < first + count; ++step) {
        const std::vector<Slot> where = slots(step);
        for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
            const std::uint64_t object = object_of(step, rank), size = metadata_size(step, rank);
            const std::uint64_t room = std::min(room_before(first, rank), where[rank].bytes);
            pieces.push_back({object, where[rank].at, room});
            if (size <= room) continue;
            const bool elsewhere = overflows(step, rank, where[rank]);
            if (choices_.places == MetadataPlaces::rows)
                read({{object, where[rank].at, where[rank].bytes}}, again);
            else if (choices_.places == MetadataPlaces::slots && !elsewhere)
                read({{object, where[rank].at, size}}, again);
            if (elsewhere) get_unknown(side, key_of(step, rank), size, again);
        }
    }
    if (!pieces.empty()) read(pieces, calls);
    append_waiting(calls, std::move(again));
}

// What a reader makes room for: the metadata of the step before it, and somewhat more. Of dense metadata it
// knows.
std::uint64_t Requests::room_before(std::uint64_t step, std::uint32_t rank) const
{
    if (choices_.places == MetadataPlaces::dense) return UINT64_MAX;
    const std::uint64_t before = metadata_size(step == 0 ? 0 : step - 1, rank);
    return choices_.places == MetadataPlaces::rows ? before + before / 64 + 64 : steps::room_for(before);
}

// The reader learns the size from its first try.
void Requests::get_unknown(std::uint64_t object, const std::string& key, std::uint64_t size,
                           Calls& calls) const
{
    if (job_.in_files) return files_.get(object, size, calls);
    calls.push_back(get(object, key, usual_room, size, true));
    if (size > usual_room) calls.push_back(get(object, key, size, size, true));
}

} // namespace stepstore::sim

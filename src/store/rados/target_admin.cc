// What is looked at or cleaned up now and then: counters, the space that is taken, what dead clients left.
#include "base/clock.h"
#include "store/rados/target.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace stepstore::store::rados {

namespace {

constexpr std::uint64_t told_every = 1'000'000'000; // ns, with updates that are sent anyway
constexpr std::size_t numbers = 6;                  // in the value of a process's counters

// The entries of the omap whose keys begin with `prefix`.
std::map<std::string, Buffer> all_below(Index& index, const std::string& prefix)
{
    std::map<std::string, Buffer> all;
    for (bool more = true; more;) {
        std::map<std::string, Buffer> got;
        int code = 0;
        librados::ObjectReadOperation operation;
        operation.assert_exists();
        operation.omap_get_vals2(all.empty() ? "" : all.rbegin()->first, prefix, 1024, &got, &more, &code);
        const int result = index.io.read(index.object, operation).code;
        if (result < 0) index.failed(result, "cannot read the index");
        if (code < 0) index.failed(code, "cannot read the index");
        more = more && !got.empty();
        all.merge(got);
    }
    return all;
}

} // namespace

// ---- counters. Each process has a record of its own; together they are the target's.

std::string RadosTarget::counter_key() const
{
    return std::string(1, counter_space) + big(io_.instance(), 8) + tag_;
}

void RadosTarget::count(const Counters& added)
{
    updates_.fetch_add(added.updates, std::memory_order_relaxed);
    fetches_.fetch_add(added.fetches, std::memory_order_relaxed);
    bytes_written_.fetch_add(added.bytes_written, std::memory_order_relaxed);
    bytes_read_.fetch_add(added.bytes_read, std::memory_order_relaxed);
    counted_.store(true, std::memory_order_relaxed);
}

void RadosTarget::add_counters(std::map<std::string, Buffer>& set, bool now)
{
    const std::uint64_t time = nanoseconds(CLOCK_MONOTONIC);
    if (!now && time - counted_at_.load(std::memory_order_relaxed) < told_every) return;
    counted_at_.store(time, std::memory_order_relaxed);
    counted_.store(false, std::memory_order_relaxed);
    std::string value;
    for (const std::uint64_t number :
         {updates_.load(), fetches_.load(), bytes_written_.load(), bytes_read_.load(),
          static_cast<std::uint64_t>(index_bytes_.load()), static_cast<std::uint64_t>(bulk_bytes_.load())})
        value += big(number, 8);
    set[counter_key()] = to_buffer(value);
}

std::array<std::int64_t, numbers> RadosTarget::totals()
{
    std::array<std::int64_t, numbers> sum{};
    const auto add = [&](std::size_t at, std::uint64_t number) {
        sum[at] += static_cast<std::int64_t>(number);
    };
    for (const auto& [key, buffer] : all_below(index_, std::string(1, counter_space))) {
        const std::string value = to_string(buffer);
        if (key == counter_key() || value.size() != 8 * numbers) continue;
        for (std::size_t at = 0; at < numbers; ++at)
            add(at, from_big(std::string_view(value).substr(8 * at, 8)));
    }
    add(0, updates_);
    add(1, fetches_);
    add(2, bytes_written_);
    add(3, bytes_read_);
    sum[4] += index_bytes_;
    sum[5] += bulk_bytes_;
    for (std::int64_t& one : sum)
        one = std::max<std::int64_t>(one, 0);
    return sum;
}

Counters RadosTarget::counters()
{
    const auto sum = totals();
    return {static_cast<std::uint64_t>(sum[0]), static_cast<std::uint64_t>(sum[1]),
            static_cast<std::uint64_t>(sum[2]), static_cast<std::uint64_t>(sum[3])};
}

Target::Usage RadosTarget::usage()
{
    const auto sum = totals();
    return {static_cast<std::uint64_t>(sum[4]), static_cast<std::uint64_t>(sum[5])};
}

bool RadosTarget::close()
{
    bool all = lanes_.close();
    librados::ObjectWriteOperation operation;
    operation.assert_exists();
    std::set<std::string> removed;
    {
        const std::lock_guard lock(guard_);
        removed.swap(notes_done_);
        all = all && notes_open_ == 0;
    }
    std::map<std::string, Buffer> set;
    if (counted_ || index_bytes_ != 0 || bulk_bytes_ != 0) add_counters(set, true);
    if (removed.empty() && set.empty()) return all;
    if (!removed.empty()) operation.omap_rm_keys(removed);
    if (!set.empty()) operation.omap_set(set);
    return io_.write(index_.object, operation).code == 0 && all;
}

// ---- extents

RadosTarget::PieceState RadosTarget::look_at_piece(const std::string& name)
{
    PieceState state;
    std::map<std::string, Buffer> notes;
    int code = 0;
    bool more = false;
    librados::ObjectReadOperation look;
    look.stat(&state.size, nullptr, nullptr);
    if (notes_in_omap())
        look.omap_get_vals2("", "", 1024, &notes, &more, &code);
    else
        look.getxattrs(&notes, &code);
    state.code = data_.read(name, look).code;
    if (state.code < 0 && state.code != -ENOENT) index_.failed(state.code, "cannot look at an extent");
    for (const auto& [from, to] : notes)
        state.released[notes_in_omap() ? from_big(from) : std::strtoull(from.c_str(), nullptr, 16)] =
            from_big(to_string(to));
    return state;
}

// Bytes of [from, to) of a piece that take space.
static std::uint64_t taken(const std::map<std::uint64_t, std::uint64_t>& released, std::uint64_t size,
                           std::uint64_t from, std::uint64_t to)
{
    to = std::min(to, reservation_of({0, 0, size}).length);
    std::uint64_t sum = 0, at = from;
    for (const auto& [begin, end] : released) {
        if (begin > at && at < to) sum += std::min(begin, to) - at;
        at = std::max(at, end);
    }
    return at < to ? sum + to - at : sum;
}

std::uint64_t RadosTarget::allocated(const ExtentRef& range)
{
    std::uint64_t sum = 0;
    for (std::uint64_t at = range.offset, to = range.offset + range.length; at < to;) {
        const std::uint64_t piece = at / piece_size;
        const std::uint64_t end = std::min(to, (piece + 1) * piece_size);
        const PieceState state = look_at_piece(piece_name(range.file, piece));
        if (state.code == 0)
            sum += taken(state.released, state.size, at % piece_size, end - piece * piece_size);
        at = end;
    }
    return sum;
}

// Looks at the names of all objects of the pool.
std::vector<Target::ExtentFile> RadosTarget::extent_files()
{
    data_.flush(); // what is being removed
    const std::string mine = objects_ + ".x." + std::to_string(number_) + ".";
    std::map<std::uint64_t, ExtentFile> files;
    data_.each_name([&](const std::string& name) {
        if (!name.starts_with(mine)) return true;
        const char* text = name.c_str() + mine.size();
        char* end = nullptr;
        const std::uint64_t file = std::strtoull(text, &end, 16);
        if (*end != '.') return true;
        const std::uint64_t piece = std::strtoull(end + 1, nullptr, 10);
        const PieceState state = look_at_piece(name);
        if (state.code < 0) return true; // removed meanwhile
        ExtentFile& one = files[file];
        one.file = file;
        const std::uint64_t length = reservation_of({0, 0, state.size}).length;
        one.length = std::max(one.length, piece * piece_size + length);
        one.allocated += taken(state.released, state.size, 0, length);
        return true;
    });
    std::vector<ExtentFile> all;
    std::map<std::uint64_t, std::map<std::uint64_t, std::uint64_t>> published; // by client and lane
    for (const auto& [key, value] : all_below(index_, std::string(1, lane_space)))
        if (key.size() == 7)
            published[from_big(key.substr(1, 4))][from_big(key.substr(5))] =
                LaneRecord::decode(to_string(value)).published;
    for (auto& [number, file] : files) {
        const FileNumber parts = FileNumber::decode(number);
        const auto client = published.find(parts.client);
        if (client != published.end()) {
            const auto lane = client->second.find(parts.lane);
            file.in_use = lane != client->second.end() && parts.append > lane->second;
        }
        all.push_back(file);
    }
    return all;
}

void RadosTarget::clean_up(const std::set<std::uint64_t>& dead_clients)
{
    for (const std::uint64_t client : dead_clients) {
        for (const auto& [key, value] : all_below(index_, std::string(1, lane_space) + big(client, 4))) {
            // First the record: then nobody can publish what is removed.
            librados::ObjectWriteOperation operation;
            operation.assert_exists();
            operation.omap_cmp({{key, {value, LIBRADOS_CMPXATTR_OP_EQ}}}, nullptr);
            operation.omap_rm_keys({key});
            if (io_.write(index_.object, operation).code < 0) continue; // another one cleans up too
            const LaneRecord record = LaneRecord::decode(to_string(value));
            remove_pieces(FileNumber{client, from_big(key.substr(5)), record.published + 1}.encoded(),
                          record.pieces);
        }
        for (const auto& [key, value] : all_below(index_, std::string(1, dropped_space) + big(client, 4))) {
            const std::string extents = to_string(value);
            for (std::size_t at = 0; at + 24 <= extents.size(); at += 24)
                release_pieces(reservation_of(decode_extent(std::string_view(extents).substr(at, 24))),
                               [] {});
            data_.flush();
            librados::ObjectWriteOperation operation;
            operation.assert_exists();
            operation.omap_rm_keys({key});
            io_.write(index_.object, operation);
        }
    }
}

// The cluster keeps and compares checksums of all that it stores (scrub): what is left is that it is there.
std::vector<std::string> RadosTarget::check()
{
    std::uint64_t size = 0;
    librados::ObjectReadOperation look;
    look.stat(&size, nullptr, nullptr);
    const int code = io_.read(index_.object, look).code;
    if (code == 0) return {};
    if (code == -ENOENT) return {index_.where + ": its object " + index_.object + " is missing"};
    index_.failed(code, "cannot look at the index");
}

// ---- extents that an update refers to, or refers to no longer

void RadosTarget::leaving(const ExtentRef& dropped)
{
    if (Transaction* open = transaction_here(); open != nullptr) open->leaving_.push_back(dropped);
}

bool RadosTarget::holds(const ExtentRef& appended)
{
    return appended.length == 0 || lanes_.taken_for(appended.file) != nullptr;
}

// Appends of a refused update whose lanes others have removed. What was written of them after that is left.
void RadosTarget::let_go_of_lost(const Transaction& transaction)
{
    lanes_.verify();
    for (const ExtentRef& one : transaction.entering_)
        if (!holds(one)) remove_pieces(one.file, (one.offset + one.length + piece_size - 1) / piece_size);
}

void RadosTarget::entering(const ExtentRef& appended)
{
    if (Transaction* open = transaction_here(); open != nullptr && appended.length != 0)
        open->entering_.push_back(appended);
}

void RadosTarget::add_extents(Transaction& transaction, librados::ObjectWriteOperation& operation,
                              std::map<std::string, Buffer>& set, std::set<std::string>& removed)
{
    std::map<std::string, std::pair<Buffer, int>> conditions;
    for (const ExtentRef& one : transaction.entering_) {
        const Lane* lane = lanes_.taken_for(one.file);
        if (lane == nullptr) continue;
        conditions[lane->key()] = {to_buffer(lane->record.encoded()), LIBRADOS_CMPXATTR_OP_EQ};
        set[lane->key()] = to_buffer(LaneRecord{lane->record.published + 1}.encoded());
    }
    if (!conditions.empty()) operation.omap_cmp(conditions, nullptr);
    std::string extents;
    auto drop = std::make_shared<Drop>();
    for (const ExtentRef& one : transaction.leaving_) {
        if (one.length == 0) continue;
        extents += encode(one);
        ++drop->left;
    }
    const std::uint64_t client = extents.empty() ? 0 : client_.number();
    const std::lock_guard lock(guard_);
    transaction.notes_.swap(notes_done_);
    removed.insert(transaction.notes_.begin(), transaction.notes_.end());
    if (extents.empty()) return;
    drop->key = std::string(1, dropped_space) + big(client, 4) + tag_ + big(drop_number_++, 4);
    set[drop->key] = to_buffer(extents);
    transaction.note_ = true;
    for (const ExtentRef& one : transaction.leaving_)
        drops_[{one.file, one.offset}] = drop;
}

// All targets must take it before their updates get there. What was enough the last time nearly is.
Epoch RadosTarget::barrier_epoch(Epoch least, unsigned refused)
{
    constexpr Epoch shortest = 32'000'000, longest = 4'000'000'000; // nanoseconds
    static std::atomic<Epoch> ahead{2 * shortest};
    const Epoch before = ahead;
    const Epoch now = refused == 0 ? std::max(before * 3 / 4, shortest) : std::min(2 * before, longest);
    ahead = now;
    return std::max(Clock::now(), least) + now;
}

} // namespace stepstore::store::rados

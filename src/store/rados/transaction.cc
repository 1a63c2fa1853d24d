#include "store/rados/transaction.h"

#include "base/checksum.h"
#include "stepstore/error.h"
#include "store/keys.h"

#include <daos_errno.h>

#include <algorithm>

namespace stepstore::store::rados {

namespace {

std::string text_of(Bytes bytes)
{
    return std::string(as_text(bytes));
}

} // namespace

void Transaction::begin()
{
    changes_.clear();
    scopes_used_.clear();
    for (auto& [key, cell] : cells_)
        cell.got = false;
    first_epoch_ = last_epoch_ = seen_ = barrier_ = 0;
    entering_.clear();
    leaving_.clear();
    freed_.clear();
    raised_limit_ = 0;
    note_ = false;
    placed_ = false;
    certain_ = true;
    mixed_ = false;
    first_seen_version_ = 0;
    has_read_extents_ = false;
    last_walked_.clear();
    ahead_ = 0;
    last_scan_ = {};
    seen_sum_ = 0;
    expected_.clear();
    expected_scans_.clear();
    kept_.clear();
}

// ---- what is read

void Transaction::add_expected(Fetch& fetch)
{
    for (std::string& key : expected_)
        if (!cells_.contains(key)) fetch.keys.insert(stored_key(key));
    expected_.clear();
    for (const Fetch::Scan& scan : expected_scans_) {
        scans_.try_emplace({scan.prefix, scan.from}, scan.most);
        fetch.scans.push_back(scan);
    }
    expected_scans_.clear();
}

// All of it at one moment. A pinned transaction begins again where that is not the moment of what it knows;
// so does one that knows a scope by another guard.
std::uint64_t Transaction::run(Fetch& fetch, const Span* span)
{
    const std::size_t own_scans = fetch.scans.size();
    add_expected(fetch);
    if (writes_) fetch.keys.insert(limit_key);
    const bool scoped = span != nullptr && span->scoped && !pinned_;
    if (scoped) fetch.keys.insert(guard_key(span->prefix));
    const std::uint64_t version = index_.fetch(fetch);
    if (pinned_) {
        if (version_ != 0 && version != version_) {
            for (const auto& scan : fetch.scans)
                scans_[{scan.prefix, scan.from}] = scan.most;
            throw Again{this};
        }
        version_ = version;
    }
    if (writes_) {
        limit_ = fetch.raw(limit_key);
    }
    if (scoped) {
        ScopeView& view = scopes_[span->prefix];
        const Raw guard = fetch.raw(guard_key(span->prefix));
        const bool known = view.version != 0;
        if (known && (guard == nullptr) != (view.guard == nullptr)) throw Again{this};
        if (known && guard != nullptr && *guard != *view.guard) throw Again{this};
        view.guard = guard;
        if (!known) view.version = version;
    }
    for (const std::string& stored : fetch.keys) {
        if (stored[0] != record_space) continue;
        const std::string key(key_of(stored));
        cells_[key] = {fetch.raw(stored), version, cells_[key].got, false};
        asked_.insert(key);
    }
    for (std::size_t scan = own_scans; scan < fetch.scans.size(); ++scan)
        take_scan(fetch.scans[scan], version, cover_);
    return version;
}

void Transaction::take_scan(const Fetch::Scan& scan, std::uint64_t version, Cover& cover)
{
    std::string last;
    bool contradicts = false; // what the body has got
    for (const auto& [stored, value] : scan.got) {
        last = key_of(stored);
        Cell& cell = cells_[last];
        std::string now = to_string(value);
        contradicts = contradicts || (cell.got && (!cell.raw || *cell.raw != now));
        if (cell.guessed) remembered_.guessed_wrong(last);
        cell = {std::make_shared<const std::string>(std::move(now)), version, cell.got, false};
    }
    cover.add(scan.from, scan.more && !scan.got.empty() ? last + '\0' : behind(scan.prefix));
    if (contradicts) throw Again{this};
}

void Transaction::fetch_from(const Span& span, const std::string& from, std::uint64_t most)
{
    Fetch fetch;
    fetch.scans.push_back({from, span.prefix, most});
    const std::uint64_t version = run(fetch, &span);
    scans_[{span.prefix, from}] = most;
    last_scan_ = {};
    for (const auto& [stored, value] : fetch.scans.front().got) {
        last_scan_.last = key_of(stored);
        last_scan_.bytes += stored.size() + value.length();
        ++last_scan_.entries;
    }
    take_scan(fetch.scans.front(), version, cover_of(span));
}

// Makes known what lies directly before `key`, not less than `floor`. The omap has no way backwards. So one
// read looks at many places at once, in distances of powers of two from the last known key on, as numbers.
// The farthest one that holds something is the next to begin from, until one scan reaches up to `key`.
void Transaction::fetch_before(const Span& span, const std::string& floor, const std::string& key)
{
    constexpr std::uint64_t scan_size = 1024; // osd_max_omap_entries_per_request
    constexpr std::size_t number = 16;        // bytes taken as one
    for (std::string low = floor;;) {
        const std::size_t common =
            static_cast<std::size_t>(std::ranges::mismatch(low, key).in1 - low.begin());
        Fetch fetch;
        fetch.scans.push_back({low, span.prefix, scan_size});
        for (std::size_t bit = 0; bit < 8 * number; bit += 2) {
            std::string probe = low.substr(0, common + number);
            probe.resize(common + number, '\0');
            unsigned carry = 1U << bit % 8;
            for (std::size_t at = probe.size() - bit / 8; at-- > common && carry != 0; carry >>= 8) {
                carry += static_cast<unsigned char>(probe[at]);
                probe[at] = static_cast<char>(carry & 0xff);
            }
            if (carry == 0 && probe < key) fetch.scans.push_back({probe, span.prefix, 1});
        }
        const std::uint64_t version = run(fetch, &span);
        Cover& cover = cover_of(span);
        std::string farthest;
        for (const Fetch::Scan& scan : fetch.scans) {
            take_scan(scan, version, cover);
            for (const auto& [stored, value] : scan.got)
                if (key_of(stored) < key) farthest = std::max(farthest, std::string(key_of(stored)));
        }
        scans_[{span.prefix, low}] = scan_size;
        if (cover.begin_before(key) != nullptr) return;
        low = farthest; // the scan alone moved it
    }
}

void Transaction::refresh()
{
    Fetch fetch;
    for (const std::string& key : asked_)
        fetch.keys.insert(stored_key(key));
    if (writes_) {
        fetch.keys.insert(limit_key);
        fetch.keys.insert(lock_key);
    }
    for (const auto& [scope, view] : scopes_)
        fetch.keys.insert(guard_key(scope));
    for (const auto& [place, most] : scans_)
        fetch.scans.push_back({place.second, place.first, most});
    version_ = index_.fetch(fetch);
    std::map<std::string, bool> guessed;
    for (const auto& [key, cell] : cells_)
        if (cell.guessed) guessed[key] = true;
    cells_.clear();
    cover_.clear();
    for (const std::string& key : asked_) {
        const Raw raw = fetch.raw(stored_key(key));
        if (raw && guessed.contains(key)) remembered_.guessed_wrong(key);
        cells_[key] = {raw, version_, false, false};
    }
    for (auto& [scope, view] : scopes_) {
        const Raw guard = fetch.raw(guard_key(scope));
        if (view.version == 0 && guard) remembered_.guessed_wrong(scope);
        view = {guard, {}, version_, false};
        if (!guard) view.cover.add(scope, behind(scope)); // nobody has put anything there
    }
    for (const Fetch::Scan& scan : fetch.scans) {
        const auto scope = pinned_ ? scopes_.end() : scopes_.find(scan.prefix);
        take_scan(scan, version_, scope == scopes_.end() ? cover_ : scope->second.cover);
    }
    std::set<std::pair<std::uint64_t, std::uint64_t>> still;
    for (const auto& [key, cell] : cells_)
        if (const ExtentRef extent = spilled_extent(cell.raw); extent.length != 0)
            still.emplace(extent.file, extent.offset);
    std::erase_if(spilled_, [&](const auto& one) { return !still.contains(one.first); });
    limit_ = fetch.raw(limit_key);
    lock_ = fetch.raw(lock_key) ? *fetch.raw(lock_key) : std::string();
    if (!pinned_) version_ = 0;
}

void Transaction::remember_all()
{
    for (const std::string& key : asked_)
        if (const auto found = cells_.find(key); found != cells_.end())
            remembered_.remember(key, found->second.raw);
    for (const auto& [scope, view] : scopes_)
        remembered_.forget_scope(scope);
}

// ---- what the body sees

void Transaction::saw_version(std::uint64_t version)
{
    if (version == 0) certain_ = false;
    if (first_seen_version_ == 0) first_seen_version_ = version;
    if (version != first_seen_version_) mixed_ = true;
}

// A stamp says which update wrote the value.
void Transaction::saw(const Raw& raw)
{
    const std::string_view stamp = raw ? std::string_view(*raw).substr(0, stamp_size) : std::string_view();
    if (raw) seen_ = std::max(seen_, epoch_of(stamp));
    seen_sum_ = checksum(as_bytes(stamp), seen_sum_ + 1);
}

std::uint64_t Transaction::version() const
{
    if (writes_) return 0;
    if (version_ == 0) {
        Fetch fetch;
        const_cast<Transaction*>(this)->run(fetch, nullptr);
    }
    return version_;
}

void Transaction::expect(std::span<const Bytes> keys)
{
    for (const Bytes key : keys)
        expected_.push_back(text_of(key));
}

void Transaction::expect_from(Bytes prefix, Bytes from, std::size_t entries)
{
    if (pinned_ && cover_.end_at(text_of(from)) == nullptr)
        expected_scans_.push_back({text_of(from), text_of(prefix), entries});
}

Epoch Transaction::seen()
{
    Clock::saw(seen_);
    return seen_;
}

bool Transaction::take_barrier(Epoch epoch)
{
    const Epoch limit =
        limit_ ? from_ordered(*limit_) : remembered_.limit.load(); // the operation verifies it
    if (const Epoch last = std::max(seen_, limit); last >= epoch) {
        Clock::saw(last);
        return false;
    }
    barrier_ = epoch;
    took(epoch);
    return true;
}

Transaction::Cell& Transaction::cell(const std::string& key)
{
    asked_.insert(key);
    if (const auto found = cells_.find(key); found != cells_.end()) return found->second;
    if (pinned_) {
        if (cover_.end_at(key) != nullptr) return cells_[key] = {nullptr, version_, false, false};
    } else if (!careful_) {
        if (Raw raw; remembered_.recall(key, raw)) return cells_[key] = {raw, 0, false, false};
        if (remembered_.may_guess(key)) return cells_[key] = {nullptr, 0, false, true};
    }
    Fetch fetch;
    fetch.keys.insert(stored_key(key));
    run(fetch, nullptr);
    return cells_[key];
}

// The body looks at a key that it has not changed.
Transaction::Cell& Transaction::look_up(const std::string& key)
{
    Cell& found = cell(key);
    found.got = true;
    saw(found.raw);
    saw_version(found.version);
    return found;
}

bool Transaction::get(Bytes given, Bytes& value)
{
    if (given.empty() || given.size() > max_key) return false;
    const std::string key = text_of(given);
    if (const auto mine = changes_.find(key); mine != changes_.end()) {
        if (mine->second) value = as_bytes(*mine->second).subspan(header_size);
        return mine->second.has_value();
    }
    const Cell& found = look_up(key);
    if (!found.raw) return false;
    value = value_of(found.raw, found.version, key, false);
    return true;
}

Transaction::Span Transaction::span_of(Bytes prefix)
{
    Span span{text_of(prefix), behind(as_text(prefix)), false};
    span.scoped = !prefix.empty() && scope_size(prefix) == prefix.size();
    if (span.scoped || pinned_) return span;
    pinned_ = true; // from the run that follows on
    cells_.clear();
    scopes_.clear();
    version_ = 0;
    throw Again{this};
}

Cover& Transaction::cover_of(const Span& span)
{
    return span.scoped && !pinned_ ? scopes_[span.prefix].cover : cover_;
}

Transaction::ScopeView& Transaction::open_scope(const std::string& scope)
{
    scopes_used_.insert(scope);
    const auto [at, is_new] = scopes_.try_emplace(scope);
    if (!is_new) return at->second;
    ScopeView& view = at->second;
    Remembered::Scope known;
    if (careful_) return view;
    if (remembered_.recall_scope(scope, known)) {
        view.guard = known.guard;
        for (const auto& [key, raw] : known.entries)
            cells_.try_emplace(key, Cell{raw, 0, false, false});
        view.cover.add(scope, behind(scope));
    } else if (remembered_.may_guess(scope)) {
        view.guessed = true;
        view.cover.add(scope, behind(scope));
    }
    return view;
}

// How many entries to read from `key` on. More and more of them where the body has walked over all that was
// read last, as far as they are small.
std::uint64_t Transaction::to_scan(const std::string& key) const
{
    constexpr std::uint64_t least = 4, most = 256, most_bytes = 4 << 20;
    const bool goes_on = placed_ && position_ == last_scan_.last && key > last_scan_.last;
    if (!goes_on || last_scan_.entries == 0) return least;
    const std::uint64_t entry = last_scan_.bytes / last_scan_.entries + 1;
    return std::clamp(std::min(4 * last_scan_.entries, most_bytes / entry), least, most);
}

Transaction::Found Transaction::first_from(const Span& span, std::string key)
{
    if (span.scoped && !pinned_) open_scope(span.prefix);
    for (std::uint64_t most = to_scan(key);; most = std::min<std::uint64_t>(4 * most, 1024)) {
        const std::string* end = cover_of(span).end_at(key);
        if (span.scoped && !pinned_) scans_.try_emplace({span.prefix, key}, 4); // should it be refused
        if (end == nullptr) {
            fetch_from(span, key, most);
            continue;
        }
        const std::string stop = std::min(*end, span.end);
        auto mine = changes_.lower_bound(key);
        for (auto at = cells_.lower_bound(key); at != cells_.end() && at->first < stop; ++at) {
            while (mine != changes_.end() && mine->first < at->first) {
                if (mine->second) return std::pair(mine->first, Raw());
                ++mine;
            }
            const bool changed = mine != changes_.end() && mine->first == at->first;
            if (changed && mine->second) return std::pair(mine->first, Raw());
            if (!changed && at->second.raw) return std::pair(at->first, at->second.raw);
        }
        for (; mine != changes_.end() && mine->first < stop; ++mine)
            if (mine->second) return std::pair(mine->first, Raw());
        if (stop == span.end) return std::nullopt;
        key = stop;
    }
}

Transaction::Found Transaction::last_before(const Span& span, std::string key)
{
    if (span.scoped && !pinned_) open_scope(span.prefix);
    for (key = std::min(key, span.end);;) {
        if (key <= span.prefix) return std::nullopt;
        const std::string* begin = cover_of(span).begin_before(key);
        if (begin == nullptr) {
            fetch_before(span, span.prefix, key);
            continue;
        }
        const std::string floor = std::max(*begin, span.prefix);
        auto mine = std::make_reverse_iterator(changes_.lower_bound(key));
        for (auto at = std::make_reverse_iterator(cells_.lower_bound(key));
             at != cells_.rend() && at->first >= floor; ++at) {
            for (; mine != changes_.rend() && mine->first > at->first; ++mine)
                if (mine->second) return std::pair(mine->first, Raw());
            const bool changed = mine != changes_.rend() && mine->first == at->first;
            if (changed && mine->second) return std::pair(mine->first, Raw());
            if (!changed && at->second.raw) return std::pair(at->first, at->second.raw);
        }
        for (; mine != changes_.rend() && mine->first >= floor; ++mine)
            if (mine->second) return std::pair(mine->first, Raw());
        if (floor == span.prefix) return std::nullopt;
        key = floor;
    }
}

bool Transaction::give(Found found, const Span& span, Entry& entry)
{
    std::uint64_t version = version_;
    if (span.scoped && !pinned_) {
        const ScopeView& view = scopes_[span.prefix];
        if (view.guard) seen_ = std::max(seen_, epoch_of(*view.guard));
        version = view.version;
    }
    saw_version(version);
    if (!found) {
        saw(nullptr);
        return false;
    }
    saw(found->second);
    seen_sum_ = checksum(as_bytes(found->first), seen_sum_);
    position_ = found->first;
    position_span_ = span;
    placed_ = true;
    entry.value = found->second ? value_of(found->second, version, found->first, true)
                                : as_bytes(*changes_.find(found->first)->second).subspan(header_size);
    entry.key = as_bytes(*kept_.emplace_back(std::make_shared<const std::string>(std::move(found->first))));
    return true;
}

bool Transaction::seek(Bytes key, Entry& entry)
{
    const Span all = span_of({});
    return give(first_from(all, text_of(key.first(std::min(key.size(), max_key + 1)))), all, entry);
}

bool Transaction::seek_last(Bytes key, Entry& entry)
{
    if (key.empty()) return false;
    const Span all = span_of({});
    return give(last_before(all, text_of(key.first(std::min(key.size(), max_key + 1)))), all, entry);
}

bool Transaction::seek_in(Bytes prefix, Bytes key, Entry& entry)
{
    const Span span = span_of(prefix);
    return give(first_from(span, std::max(text_of(key), span.prefix)), span, entry);
}

bool Transaction::seek_last_in(Bytes prefix, Bytes key, Entry& entry)
{
    const Span span = span_of(prefix);
    return give(last_before(span, text_of(key)), span, entry);
}

bool Transaction::next(Entry& entry)
{
    return placed_ && give(first_from(position_span_, position_ + '\0'), position_span_, entry);
}

bool Transaction::previous(Entry& entry)
{
    return placed_ && give(last_before(position_span_, position_), position_span_, entry);
}

// ---- what the body changes

void Transaction::put(Bytes key, Bytes value)
{
    const std::string copy = text_of(value); // it may lie in what is replaced
    const MutableBytes into = reserve(key, copy.size());
    if (!copy.empty()) std::memcpy(into.data(), copy.data(), copy.size());
}

MutableBytes Transaction::reserve(Bytes key, std::size_t length)
{
    if (key.empty() || key.size() > max_key) {
        throw Error(-DER_INVAL, index_.where + ": a key of " + std::to_string(key.size()) +
                                    " bytes: give 1 to " + std::to_string(max_key) + " bytes");
    }
    std::string& value = changes_[text_of(key)].emplace(header_size + length, '\0');
    return {reinterpret_cast<std::byte*>(value.data()) + header_size, length};
}

bool Transaction::erase(Bytes given)
{
    if (given.empty() || given.size() > max_key) return false;
    const std::string key = text_of(given);
    const auto mine = changes_.find(key);
    const bool there = mine != changes_.end() ? mine->second.has_value() : look_up(key).raw != nullptr;
    if (there) changes_[key].reset();
    return there;
}

} // namespace stepstore::store::rados

#include "fields/page.h"

#include "fields/record.h"

#include <algorithm>

namespace stepstore::fields {

namespace {

constexpr std::uint64_t restart_interval = 16; // entries; the first of each has its text whole

enum Kind : std::uint8_t { kind_removed = 0, kind_own = 1, kind_foreign = 2, kind_summed = 3 };

std::uint64_t zigzag(std::uint64_t difference)
{
    return (difference << 1) ^ (0 - (difference >> 63));
}

std::uint64_t unzigzag(std::uint64_t value)
{
    return (value >> 1) ^ (0 - (value & 1));
}

std::size_t common_prefix(std::string_view a, std::string_view b)
{
    const auto [at, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    return static_cast<std::size_t>(at - a.begin());
}

std::string_view keyword_of(std::string_view pair)
{
    return pair.substr(0, pair.find('='));
}

void write_entry(WireWriter& to, const PageEntry& entry, std::uint64_t base_time)
{
    if (entry.removed) {
        to.fixed(static_cast<std::uint8_t>(kind_removed));
        return;
    }
    const auto* own = std::get_if<FieldLocation>(&entry.location);
    to.fixed(static_cast<std::uint8_t>(own == nullptr  ? kind_foreign
                                       : own->checksum ? kind_summed
                                                       : kind_own));
    to.varint(zigzag(entry.timestamp - base_time));
    if (own != nullptr) {
        to.varint(own->object);
        to.varint(own->offset);
        to.varint(own->length);
        if (own->checksum) to.fixed(*own->checksum);
    } else {
        to.text(std::get<std::string>(entry.location));
    }
}

PageEntry read_entry(WireReader& from, std::uint64_t base_time)
{
    PageEntry entry;
    const auto kind = from.fixed<std::uint8_t>();
    if (kind == kind_removed) {
        entry.removed = true;
        return entry;
    }
    if (kind > kind_summed) from.fail("has an entry of an unknown kind");
    entry.timestamp = base_time + unzigzag(from.varint());
    if (kind == kind_foreign) {
        entry.location = std::string(from.text());
        return entry;
    }
    FieldLocation own;
    own.object = from.varint();
    own.offset = from.varint();
    own.length = from.varint();
    if (kind == kind_summed) own.checksum = from.fixed<std::uint64_t>();
    entry.location = own;
    return entry;
}

void skip_entry(WireReader& from)
{
    const auto kind = from.fixed<std::uint8_t>();
    if (kind == kind_removed) return;
    from.varint();
    if (kind == kind_foreign) {
        from.text();
        return;
    }
    if (kind > kind_summed) from.fail("has an entry of an unknown kind");
    from.varint();
    from.varint();
    from.varint();
    if (kind == kind_summed) from.fixed<std::uint64_t>();
}

} // namespace

void PageBuilder::add(std::string_view text, const PageEntry& entry)
{
    if (part_.bytes.size() >= part_size) finish_part();
    if (count_ == 0) {
        part_.first = text;
        base_time_ = entry.timestamp;
        part_.bytes = framed();
        WireWriter(part_.bytes).fixed(base_time_);
    }
    WireWriter to(part_.bytes);
    std::size_t shared = 0;
    if (count_ % restart_interval == 0)
        restarts_.push_back(static_cast<std::uint32_t>(part_.bytes.size() - frame_size));
    else
        shared = common_prefix(text, last_);
    to.varint(shared);
    to.text(text.substr(shared));
    write_entry(to, entry, base_time_);
    note_axes(text);
    ++count_;
    ++summary_.entries;
    if (entry.removed) ++summary_.removals;
    summary_.newest = std::max(summary_.newest, entry.timestamp);
}

// In sorted texts most pairs are those of the entry before.
void PageBuilder::note_axes(std::string_view text)
{
    const std::string now(text);
    std::vector<std::string_view> pairs;
    bool same_shape = true;
    for (std::string_view left = now; !left.empty();) {
        const std::size_t end = left.find(',');
        const std::string_view pair = left.substr(0, end);
        const std::size_t at = pairs.size();
        const bool other = at >= last_pairs_.size() || last_pairs_[at] != pair;
        if (other && !pairs_.contains(pair)) pairs_.emplace(pair);
        if (other && (at >= last_pairs_.size() || keyword_of(last_pairs_[at]) != keyword_of(pair)))
            same_shape = false;
        pairs.push_back(pair);
        if (end == std::string_view::npos) break;
        left.remove_prefix(end + 1);
    }
    if (summary_.entries > 0 && (!same_shape || pairs.size() != last_pairs_.size())) summary_.mixed = true;
    // The views move with the text.
    last_ = now;
    for (std::string_view& pair : pairs)
        pair = {last_.data() + (pair.data() - now.data()), pair.size()};
    last_pairs_ = std::move(pairs);
}

void PageBuilder::finish_part()
{
    WireWriter to(part_.bytes);
    for (const std::uint32_t at : restarts_)
        to.fixed(at);
    to.fixed(static_cast<std::uint32_t>(restarts_.size()));
    seal(part_.bytes, Magic::part);
    finished_(std::move(part_));
    part_ = {};
    count_ = 0;
    restarts_.clear();
}

PageSummary PageBuilder::finish()
{
    if (count_ > 0) finish_part();
    for (const std::string& pair : pairs_) {
        const Key key = Key::parse(pair);
        summary_.axes[key.pairs().front().first].insert(key.pairs().front().second);
    }
    return std::move(summary_);
}

Part::Part(std::vector<std::byte> bytes, std::string what) : bytes_(std::move(bytes)), what_(std::move(what))
{
    const Bytes body = unseal(bytes_, Magic::part, what_);
    WireReader from(body, what_);
    constexpr std::size_t number = sizeof(std::uint32_t);
    base_time_ = from.fixed<std::uint64_t>();
    if (body.size() < 8 + number) from.fail("ends too early");
    restarts_ = load_little<std::uint32_t>(body.data() + body.size() - number);
    if (restarts_ == 0 || restarts_ > (body.size() - 8) / number - 1) from.fail("counts more than it holds");
    begin_ = frame_size + 8;
    end_ = bytes_.size() - (restarts_ + 1) * number;
    for (std::size_t i = 0; i < restarts_; ++i)
        if (restart(i) < begin_ || restart(i) >= end_) from.fail("points beyond its entries");
}

std::size_t Part::restart(std::size_t index) const
{
    return frame_size + load_little<std::uint32_t>(bytes_.data() + end_ + index * sizeof(std::uint32_t));
}

Part::Cursor::Cursor(const Part* part, std::size_t at) : part_(std::shared_ptr<const Part>(), part), at_(at)
{
}

bool Part::Cursor::next()
{
    if (at_ >= part_->end_) return false;
    WireReader from(part_->entries().subspan(at_), part_->what_);
    const std::uint64_t shared = from.varint();
    const std::string_view rest = from.text();
    if (shared > text_.size()) from.fail("has an entry that repeats more bytes than the one before it has");
    text_.resize(shared);
    text_ += rest;
    entry_at_ = part_->end_ - from.left();
    skip_entry(from);
    at_ = part_->end_ - from.left();
    return true;
}

PageEntry Part::Cursor::entry() const
{
    WireReader from(part_->entries().subspan(entry_at_), part_->what_);
    return read_entry(from, part_->base_time_);
}

std::optional<PageEntry> Part::find(std::string_view text) const
{
    // The last restart whose text is not greater.
    std::size_t low = 0, high = restarts_;
    while (high - low > 1) {
        const std::size_t middle = low + (high - low) / 2;
        WireReader from(entries().subspan(restart(middle)), what_);
        from.varint();
        if (from.text() <= text)
            low = middle;
        else
            high = middle;
    }
    Cursor cursor(this, restart(low));
    for (std::uint64_t i = 0; i < restart_interval && cursor.next(); ++i) {
        const int order = cursor.text().compare(text);
        if (order == 0) return cursor.entry();
        if (order > 0) break;
    }
    return std::nullopt;
}

} // namespace stepstore::fields

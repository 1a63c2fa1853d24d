#include "fields/index_row.h"

#include "fields/record.h"
#include "fields/session.h"
#include "fields/writer.h"

#include <daos_errno.h>

#include <algorithm>

namespace stepstore::fields {

namespace {

constexpr char from_key[] = "from";
constexpr char row_prefix[] = "r/"; // of the key of a place

// Of a place whose record is gone.
bool is_gone(Bytes value)
{
    return value.size() < frame_size;
}

} // namespace

IndexRow::IndexRow(Dataset& dataset, std::string collocation,
                   std::shared_ptr<std::atomic<std::size_t>> cached_bytes)
    : dataset_(dataset), collocation_(std::move(collocation)), cached_bytes_(std::move(cached_bytes))
{
}

IndexRow::~IndexRow()
{
    *cached_bytes_ -= accounted_;
}

std::string IndexRow::what(const std::string& thing) const
{
    return thing + " under '" + collocation_.substr(0, 200) + "' in " + dataset_.name();
}

void IndexRow::account(std::size_t bytes)
{
    accounted_ += bytes;
    *cached_bytes_ += bytes;
}

bool IndexRow::open_index()
{
    if (index_) return true;
    const auto value = dataset_.key_value().get_nonempty(collocation_prefix + collocation_);
    if (!value) return false;
    index_.emplace(
        dataset_.open_key_value(dataset_.index_id(decode_collocation(*value, what("the index record")))),
        row_prefix);
    dataset_.session().met_others_work();
    return true;
}

// The first process decides which object it is.
void IndexRow::make_index()
{
    if (open_index()) return;
    const std::uint64_t number = dataset_.writer().object_number();
    try {
        dataset_.key_value().put(collocation_prefix + collocation_, encode_collocation(number),
                                 Condition::must_not_exist);
    } catch (const Error& error) {
        if (error.code() != -DER_EXIST) throw;
        open_index();
        return;
    }
    index_.emplace(dataset_.open_key_value(dataset_.index_id(number)), row_prefix);
    knows_tail_ = true; // its row is empty, or was a moment ago
}

KeyValue* IndexRow::index_object()
{
    const std::lock_guard lock(mutex_);
    return open_index() ? &index_->object() : nullptr;
}

// The hint where to begin; 0: none.
std::uint64_t IndexRow::read_from()
{
    const auto from = index_->object().get_nonempty(from_key);
    return from ? WireReader(*from, what("the beginning of the row")).fixed<std::uint64_t>() : 0;
}

bool IndexRow::refresh()
{
    const std::lock_guard lock(mutex_);
    return dataset_.guarded([&] { return refresh_locked(); });
}

bool IndexRow::refresh_locked()
{
    if (!open_index()) return false;
    while (const auto value = index_->at(next_)) {
        if (!is_gone(*value))
            add(next_, decode_row(*value, what("index page " + std::to_string(next_))));
        else if (next_ == 0) // a row that was purged, so there is a hint
            next_ = std::max<std::uint64_t>(read_from(), 1) - 1;
        ++next_;
    }
    tail_ = std::max(tail_, next_);
    knows_tail_ = true;
    return next_ > 0;
}

void IndexRow::add(std::uint64_t place, RowRecord record)
{
    const bool have_base = !pages_.empty() && pages_.front()->record.is_base;
    const std::uint64_t covered = have_base ? pages_.front()->record.covers : 0;
    if (record.is_base ? record.covers < covered : place < covered) return; // a base says it already
    account(record.inside.size() + record.firsts.size() * 64 + 256);
    auto page = std::make_shared<RowPage>();
    page->place = place;
    page->record = std::move(record);
    for (const auto& axis : page->record.summary.axes)
        if (page->narrowest == nullptr || axis.second.size() < page->narrowest->second.size())
            page->narrowest = &axis;
    if (page->record.where == PagesAt::inside && !page->record.firsts.empty()) {
        page->parts = {std::make_shared<const Part>(std::move(page->record.inside),
                                                    what("index page " + std::to_string(place)))};
        page->record.inside = {};
    }
    page->parts.resize(page->record.firsts.size());
    if (page->record.is_base) {
        const std::uint64_t covers = page->record.covers;
        std::erase_if(pages_, [&](const auto& one) { return one->record.is_base || one->place < covers; });
        pages_.insert(pages_.begin(), std::move(page));
        summary_.reset();
        summed_ = 0;
    } else {
        pages_.push_back(std::move(page));
    }
}

void IndexRow::reset()
{
    const std::lock_guard lock(mutex_);
    pages_.clear();
    summary_.reset();
    summed_ = 0;
    next_ = 0;
    *cached_bytes_ -= accounted_;
    accounted_ = 0;
}

std::vector<std::shared_ptr<RowPage>> IndexRow::pages()
{
    const std::lock_guard lock(mutex_);
    return pages_;
}

std::shared_ptr<const PageSummary> IndexRow::summary()
{
    const std::lock_guard lock(mutex_);
    if (summary_ && summed_ == pages_.size()) return summary_;
    auto sum = summary_ ? std::make_shared<PageSummary>(*summary_) : std::make_shared<PageSummary>();
    for (; summed_ < pages_.size(); ++summed_) {
        const PageSummary& one = pages_[summed_]->record.summary;
        sum->entries += one.entries;
        sum->removals += one.removals;
        sum->newest = std::max(sum->newest, one.newest);
        for (const auto& [keyword, values] : one.axes)
            sum->axes[keyword].insert(values.begin(), values.end());
    }
    summary_ = std::move(sum);
    return summary_;
}

std::uint64_t IndexRow::end()
{
    const std::lock_guard lock(mutex_);
    return next_;
}

std::shared_ptr<const Part> IndexRow::part(RowPage& page, std::size_t index, bool keep)
{
    const std::lock_guard lock(mutex_);
    return part_locked(page, index, keep);
}

std::shared_ptr<const Part> IndexRow::part_locked(RowPage& page, std::size_t index, bool keep)
{
    if (page.parts.at(index)) return page.parts[index];
    auto bytes = dataset_.guarded(
        [&] { return index_->object().get_nonempty(part_key(page.record.writer, page.record.page, index)); });
    if (!bytes) throw PartGone{page.place, index};
    auto part =
        std::make_shared<const Part>(*std::move(bytes), what("index page " + std::to_string(page.place)));
    if (keep) {
        account(part->size());
        page.parts[index] = part;
    }
    return part;
}

namespace {

// Whether the page can have an entry with this text, by its axes and its parts' first texts.
bool may_have(const RowPage& page, std::string_view text, const Key& key)
{
    const RowRecord& record = page.record;
    if (page.narrowest != nullptr) {
        const std::string* value = key.find(page.narrowest->first);
        if (value != nullptr && !page.narrowest->second.contains(*value)) return false;
    }
    if (record.firsts.empty() || text < record.firsts.front()) return false;
    return std::ranges::all_of(key.pairs(), [&](const Key::Pair& pair) {
        const auto axis = record.summary.axes.find(pair.first);
        return axis != record.summary.axes.end() && axis->second.contains(pair.second);
    });
}

} // namespace

std::optional<PageEntry> IndexRow::find_locked(std::string_view text, const Key& key)
{
    for (auto one = pages_.rbegin(); one != pages_.rend(); ++one) {
        RowPage& page = **one;
        if (!may_have(page, text, key)) continue;
        const auto& firsts = page.record.firsts;
        const auto behind = std::ranges::upper_bound(firsts, text, std::less<std::string_view>());
        const auto index = static_cast<std::size_t>(behind - firsts.begin()) - 1;
        auto entry = part_locked(page, index, true)->find(text);
        if (!entry) continue;
        if (entry->removed) return std::nullopt;
        return entry;
    }
    return std::nullopt;
}

std::optional<PageEntry> IndexRow::find(std::string_view text)
{
    const Key key = Key::parse(text);
    for (BeginAgain again(*this);;) {
        try {
            const std::lock_guard lock(mutex_);
            return find_locked(text, key);
        } catch (const PartGone& gone) {
            again(gone);
        }
        refresh();
    }
}

void BeginAgain::operator()(const PartGone& gone)
{
    if (found_twice_({gone.place, gone.part}))
        throw Error(-DER_IO, row_.what("index page " + std::to_string(gone.place)) +
                                 " refers to a part that is not there: it is damaged. \"stepstore pool "
                                 "check\" says what can be saved");
    if (++rounds_ == most_replaced)
        throw Error(-DER_AGAIN, row_.what("the index") + " was merged again and again while it was read: try "
                                                         "again once other processes purge less often");
    row_.reset();
}

void IndexRow::put_part(const RowRecord& record, std::size_t index, Bytes bytes)
{
    const std::lock_guard lock(mutex_);
    dataset_.guarded([&] {
        make_index();
        index_->object().put(part_key(record.writer, record.page, index), bytes);
    });
}

// The end of the row, or a place after which it is: places have no gaps, so it is found in O(log n)
// requests.
std::uint64_t IndexRow::free_place()
{
    const auto there = [&](std::uint64_t place) { return index_->at(place).has_value(); };
    if (tail_ == 0) tail_ = read_from();
    if (!there(tail_)) return tail_;
    std::uint64_t low = tail_, step = 1; // low is there
    while (there(low + step)) {
        low += step;
        step *= 2;
    }
    std::uint64_t high = low + step;
    while (high - low > 1) {
        const std::uint64_t middle = low + (high - low) / 2;
        (there(middle) ? low : high) = middle;
    }
    return high;
}

std::uint64_t IndexRow::append(RowRecord& record, bool covers_itself)
{
    const std::lock_guard lock(mutex_);
    return dataset_.guarded([&] {
        make_index();
        bool search = knows_tail_; // else it was just done
        if (!knows_tail_) tail_ = free_place();
        knows_tail_ = true;
        for (;;) {
            if (covers_itself) {
                record.is_base = true;
                record.covers = tail_;
            }
            if (index_->put(tail_, encode_row(record))) {
                // Who reads the row stops where a place is missing: those of others count, and may lie
                // elsewhere.
                if (!dataset_.index_in_one_place()) dataset_.session().met_others_work();
                return tail_++;
            }
            // Another process was faster: mostly by one place.
            ++tail_;
            if (std::exchange(search, false)) tail_ = free_place();
        }
    });
}

std::vector<std::shared_ptr<RowPage>> IndexRow::covered(std::uint64_t covers)
{
    const std::lock_guard lock(mutex_);
    return dataset_.guarded([&] {
        std::vector<std::shared_ptr<RowPage>> found;
        std::uint64_t place = read_from();
        // A killed purge may have left some before the hint: walk back over what still exists.
        while (place > 0) {
            const auto value = index_->at(place - 1);
            if (!value || is_gone(*value)) break;
            --place;
        }
        for (; place < covers; ++place) {
            const auto value = index_->at(place);
            if (!value || is_gone(*value)) continue;
            auto page = std::make_shared<RowPage>();
            page->place = place;
            page->record = decode_row(*value, what("index page " + std::to_string(place)));
            found.push_back(std::move(page));
        }
        return found;
    });
}

void IndexRow::begin_at(std::uint64_t place)
{
    const std::lock_guard lock(mutex_);
    std::vector<std::byte> bytes;
    WireWriter(bytes).fixed(place);
    index_->object().put(from_key, bytes);
}

void IndexRow::drop(const RowPage& page)
{
    const std::lock_guard lock(mutex_);
    if (page.record.where != PagesAt::inside)
        for (std::size_t i = 0; i < page.record.firsts.size(); ++i)
            index_->object().remove(part_key(page.record.writer, page.record.page, i));
    const std::byte gone{}; // last: the record says which parts there were, should this process die
    index_->object().put(index_->key(page.place), {&gone, 1});
}

} // namespace stepstore::fields

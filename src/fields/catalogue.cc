#include "fields/catalogue.h"

#include "fields/index_row.h"
#include "fields/listing.h"
#include "fields/session.h"
#include "fields/unsynced.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>

namespace stepstore::fields {

namespace {

std::uint64_t now()
{
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
            .count());
}

} // namespace

struct CatalogueWriter::State {
    using Entries = std::map<std::string, PageEntry>;

    explicit State(std::shared_ptr<Dataset> of) : dataset(std::move(of)), unsynced(dataset) {}

    std::shared_ptr<Dataset> dataset;
    std::mutex mutex;                       // of OwnState::field_index: guards all below
    Unsynced unsynced;                      // published
    std::map<std::string, Entries> pending; // by collocation
    std::string collocation;                // of the last call, and its entries
    Entries* last = nullptr;
};

CatalogueWriter::CatalogueWriter(std::shared_ptr<Dataset> dataset)
    : state_([dataset = std::move(dataset)] { return std::make_unique<State>(dataset); })
{
}

CatalogueWriter::~CatalogueWriter() = default;

void CatalogueWriter::archive(const Key& collocation, const Key& element, Location location,
                              std::uint64_t timestamp)
{
    std::string under = collocation.text();
    const std::lock_guard lock(state_->mutex);
    if (state_->last == nullptr || state_->collocation != under) {
        state_->last = &state_->pending[under];
        state_->collocation = std::move(under);
    }
    (*state_->last)[element.text()] = {false, std::move(location), timestamp != 0 ? timestamp : now()};
}

void CatalogueWriter::flush(bool sync)
{
    const std::lock_guard lock(state_->mutex);
    if (!state_->pending.empty()) state_->dataset->require_enabled(Control::archive);
    state_->last = nullptr;
    while (!state_->pending.empty()) {
        const auto one = state_->pending.begin();
        publish(*state_->dataset->row(one->first), *state_->dataset, [&](PageBuilder& builder) {
            for (const auto& [text, entry] : one->second)
                builder.add(text, entry);
        });
        for (const auto& [text, entry] : one->second)
            if (const auto* field = std::get_if<FieldLocation>(&entry.location)) state_->unsynced.add(*field);
        state_->pending.erase(one);
    }
    if (sync) state_->unsynced.sync();
}

std::uint64_t CatalogueWriter::pending() const
{
    const std::lock_guard lock(state_->mutex);
    std::uint64_t count = 0;
    for (const auto& one : state_->pending)
        count += one.second.size();
    return count;
}

struct CatalogueReader::State {
    explicit State(std::shared_ptr<Dataset> of) : dataset(std::move(of)) {}

    std::shared_ptr<IndexRow> row_of(const Key& key)
    {
        const std::lock_guard lock(mutex);
        if (!row || collocation != key) {
            row = dataset->row(key.text());
            collocation = key;
        }
        return row;
    }

    std::shared_ptr<Dataset> dataset;
    std::mutex mutex; // of OwnState::field_finder: guards the two below: the last that was asked for
    Key collocation;
    std::shared_ptr<IndexRow> row;
};

CatalogueReader::CatalogueReader(std::shared_ptr<Dataset> dataset)
    : state_([dataset = std::move(dataset)] { return std::make_unique<State>(dataset); })
{
    state_->dataset->require_enabled(Control::retrieve);
}

CatalogueReader::~CatalogueReader() = default;

std::optional<Entry> CatalogueReader::find(const Key& collocation, const Key& element, bool refresh)
{
    const auto row = state_->row_of(collocation);
    if ((refresh || row->end() == 0) && !row->refresh()) return std::nullopt;
    auto found = row->find(element.text());
    if (!found) return std::nullopt;
    return Entry{std::move(found->location), found->timestamp};
}

std::shared_ptr<const Axes> CatalogueReader::axes(const Key& collocation)
{
    const auto row = state_->row_of(collocation);
    if (!row->refresh()) return nullptr;
    const auto summary = row->summary();
    return {summary, &summary->axes};
}

std::shared_ptr<const Axes> CatalogueReader::axes(const Key& collocation, const Request& request)
{
    return request.empty() ? axes(collocation) : matching_axes(collocation, request, true);
}

bool CatalogueReader::may_have(const Key& collocation, const Request& request)
{
    return request.empty() ? axes(collocation) != nullptr
                           : matching_axes(collocation, request, false) != nullptr;
}

std::shared_ptr<const Axes> CatalogueReader::matching_axes(const Key& collocation, const Request& request,
                                                           bool all)
{
    const auto row = state_->row_of(collocation);
    if (!row->refresh()) return nullptr;
    const auto pages = row->pages();
    // What a page with removals takes away is in pages before it.
    bool read =
        std::ranges::any_of(pages, [](const auto& page) { return page->record.summary.removals > 0; });
    auto sum = std::make_shared<Axes>();
    for (const auto& page : pages) {
        if (page->record.summary.entries == 0 || !may_match(page->record, request, collocation)) continue;
        read = read || page->record.is_base || page->record.summary.mixed;
        for (const auto& [keyword, values] : page->record.summary.axes)
            (*sum)[keyword].insert(values.begin(), values.end());
    }
    if (read && !sum->empty()) {
        sum->clear();
        Listing matching(state_->dataset, collocation, request, {.masked = false, .even_if_locked = true});
        for (ListedField field; (all || sum->empty()) && matching.next(field);)
            for (const auto& [keyword, value] : field.element.pairs())
                (*sum)[keyword].insert(value);
    }
    return sum->empty() ? nullptr : sum;
}

void CatalogueReader::indexes(const Request& request, const std::function<bool(const IndexSummary&)>& each)
{
    state_->dataset->collocations([&](const Key& key) {
        if (!request.matches(key)) return true;
        const auto row = state_->dataset->row(key.text());
        if (!row->refresh()) return true;
        const auto all = row->summary();
        const std::uint64_t entries = all->entries - all->removals;
        return entries == 0 || each({key, {all, &all->axes}, entries, all->newest});
    });
}

} // namespace stepstore::fields

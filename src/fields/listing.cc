#include "fields/listing.h"

#include "fields/merge.h"

#include <algorithm>
#include <deque>

namespace stepstore::fields {

struct Listing::State {
    State(std::shared_ptr<Dataset> of, Request wanted, const ListOptions& with)
        : dataset(std::move(of)), request(std::move(wanted)), options(with)
    {
        if (!options.even_if_locked) dataset->require_enabled(Control::list);
    }

    void begin(const Key& key)
    {
        row = std::make_unique<IndexRow>(*dataset, key.text());
        collocation = std::make_shared<const Key>(key);
        after.reset();
        walk();
    }
    // The row as it is now, after what was given already.
    void walk()
    {
        merge.reset();
        if (!row->refresh()) return;
        auto pages = row->pages();
        // Pages that cannot match hide nothing that does.
        std::erase_if(pages,
                      [&](const auto& page) { return !may_match(page->record, request, *collocation); });
        merge.emplace(*row, pages, after);
    }
    bool advance() // to the next field under this collocation key
    {
        if (!merge) return false;
        for (BeginAgain again(*row); merge;) {
            try {
                return merge->next();
            } catch (const PartGone& gone) {
                again(gone);
                walk();
            }
        }
        return false;
    }

    std::shared_ptr<Dataset> dataset;
    Request request;
    ListOptions options;
    std::deque<Key> collocations; // still to be listed
    std::unique_ptr<IndexRow> row;
    std::optional<Merge> merge;
    std::shared_ptr<const Key> collocation;
    std::optional<std::string> after;
    Key element;
    std::size_t given = 0; // of the entries of the field at which `merge` stands
};

Listing::Listing(std::shared_ptr<Dataset> dataset, Request request, const ListOptions& options)
    : state_(std::make_unique<State>(std::move(dataset), std::move(request), options))
{
    state_->dataset->collocations([&](const Key& key) {
        if (state_->request.matches(key)) state_->collocations.push_back(key);
        return true;
    });
}

Listing::Listing(std::shared_ptr<Dataset> dataset, const Key& collocation, Request request,
                 const ListOptions& options)
    : state_(std::make_unique<State>(std::move(dataset), std::move(request), options))
{
    if (state_->request.matches(collocation)) state_->collocations.push_back(collocation);
}

Listing::~Listing() = default;
Listing::Listing(Listing&&) noexcept = default;
Listing& Listing::operator=(Listing&&) noexcept = default;

bool Listing::next(ListedField& field)
{
    State& state = *state_;
    for (;;) {
        // The rest of a field's entries, when masked ones are wanted.
        while (state.given > 0 && state.options.masked && state.merge &&
               state.given < state.merge->entries().size()) {
            const PageEntry& entry = state.merge->entries()[state.given++];
            if (entry.removed) {
                if (!state.options.removed) break;
                continue;
            }
            field = {state.collocation, state.element, {entry.location, entry.timestamp}, true};
            return true;
        }
        state.given = 0;
        if (!state.advance()) {
            if (state.collocations.empty()) return false;
            state.begin(state.collocations.front());
            state.collocations.pop_front();
            continue;
        }
        state.after = state.merge->text();
        Key element = Key::parse(*state.after);
        if (!state.request.matches(element)) continue;
        state.given = 1;
        const PageEntry& newest = state.merge->newest();
        if (state.options.masked && state.merge->entries().size() > 1) state.element = element;
        if (newest.removed) {
            if (!state.options.removed) state.given = 0;
            continue;
        }
        field = {state.collocation, std::move(element), {newest.location, newest.timestamp}, false};
        return true;
    }
}

} // namespace stepstore::fields

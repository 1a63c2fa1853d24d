#include "fields/merge.h"

#include <algorithm>

namespace stepstore::fields {

Merge::Merge(IndexRow& row, const std::vector<std::shared_ptr<RowPage>>& pages, const std::optional<std::string>& after)
    : row_(row), after_(after)
{
    heap_.reserve(pages.size());
    for (std::size_t rank = 0; rank < pages.size(); ++rank) {
        const auto& firsts = pages[rank]->record.firsts;
        if (firsts.empty()) continue;
        Source source{pages[rank], rank, 0, std::nullopt, {}};
        if (after_) {
            const auto behind = std::ranges::upper_bound(firsts, *after_);
            source.part = behind == firsts.begin() ? 0 : static_cast<std::size_t>(behind - firsts.begin()) - 1;
        }
        source.text = firsts[source.part];
        push(std::move(source));
    }
}

bool Merge::after(const Source& a, const Source& b)
{
    const int order = a.text.compare(b.text);
    return order != 0 ? order > 0 : a.rank < b.rank;
}

void Merge::push(Source&& source)
{
    heap_.push_back(std::move(source));
    std::ranges::push_heap(heap_, after);
}

// To the source's next entry, in the next part if need be. False: it has no more.
bool Merge::advance(Source& source)
{
    while (!source.cursor || !source.cursor->next()) {
        if (source.cursor) {
            source.cursor.reset();
            if (++source.part == source.page->record.firsts.size()) return false;
            source.text = source.page->record.firsts[source.part];
            return true;
        }
        source.cursor.emplace(row_.part(*source.page, source.part, false));
    }
    source.text = source.cursor->text();
    return true;
}

bool Merge::next()
{
    entries_.clear();
    ranks_.clear();
    while (!heap_.empty() && (entries_.empty() || heap_.front().text == text_)) {
        std::ranges::pop_heap(heap_, after);
        Source source = std::move(heap_.back());
        heap_.pop_back();
        const bool was_read = source.cursor.has_value();
        if (was_read && (!after_ || source.text > *after_)) {
            text_ = source.text;
            entries_.push_back(source.cursor->entry());
            ranks_.push_back(source.rank);
        }
        if (advance(source)) push(std::move(source));
    }
    return !entries_.empty();
}

} // namespace stepstore::fields

#include "fields/merge.h"

#include <algorithm>

namespace stepstore::fields {

Merge::Merge(IndexRow& row, const std::vector<std::shared_ptr<RowPage>>& pages,
             const std::optional<std::string>& after)
    : row_(row), after_(after)
{
    heap_.reserve(pages.size());
    for (std::size_t rank = 0; rank < pages.size(); ++rank) {
        const auto& firsts = pages[rank]->record.firsts;
        if (firsts.empty()) continue;
        Source source{pages[rank], rank, 0, std::nullopt, {}};
        if (after_) {
            const auto behind = std::ranges::upper_bound(firsts, *after_);
            source.part =
                behind == firsts.begin() ? 0 : static_cast<std::size_t>(behind - firsts.begin()) - 1;
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
    while (choose_first()) {
        Source& source = *first_;
        if (!entries_.empty() && source.text != text_) break;
        const bool was_read = source.cursor.has_value();
        if (was_read && (!after_ || source.text > *after_)) {
            text_ = source.text;
            entries_.push_back(source.cursor->entry());
            ranks_.push_back(source.rank);
        }
        if (!advance(source)) first_.reset();
    }
    return !entries_.empty();
}

// False: there is no source left.
bool Merge::choose_first()
{
    if (heap_.empty()) return first_.has_value();
    if (first_ && !after(*first_, heap_.front())) return true;
    std::ranges::pop_heap(heap_, after);
    if (first_) {
        std::swap(*first_, heap_.back());
        std::ranges::push_heap(heap_, after);
    } else {
        first_ = std::move(heap_.back());
        heap_.pop_back();
    }
    return true;
}

} // namespace stepstore::fields

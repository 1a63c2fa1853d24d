// The pages of a row as one sorted sequence: each field once, its newest entry first. Holds one part of each
// page that the sequence is in the middle of, no more.
// Threads: one at a time. Errors: PartGone, -DER_CSUM for a damaged part.
#pragma once

#include "fields/index_row.h"

#include <optional>
#include <string>
#include <vector>

namespace stepstore::fields {

class Merge {
public:
    // pages: oldest first. after: begins after this text.
    Merge(IndexRow& row, const std::vector<std::shared_ptr<RowPage>>& pages,
          const std::optional<std::string>& after);
    // To the next field. False: no more. Throws PartGone: begin again after text().
    bool next();
    const std::string& text() const { return text_; }
    const PageEntry& newest() const { return entries_.front(); }
    // All entries of the field, newest first.
    const std::vector<PageEntry>& entries() const { return entries_; }
    // Which of the pages each is of.
    const std::vector<std::size_t>& ranks() const { return ranks_; }

private:
    struct Source {
        std::shared_ptr<RowPage> page;
        std::size_t rank = 0; // greater: newer
        std::size_t part = 0;
        std::optional<Part::Cursor> cursor; // none: the part is not read yet, and `text` is its first entry's
        std::string text;
    };
    // Whether a comes after b: the heap's order.
    static bool after(const Source& a, const Source& b);
    bool advance(Source& source);
    void push(Source&& source);
    bool choose_first();

    IndexRow& row_;
    // The first of all; most times also after it has advanced, since a flush archives what lies together.
    // none: the heap's.
    std::optional<Source> first_;
    std::vector<Source> heap_; // the others
    std::optional<std::string> after_;
    std::string text_;
    std::vector<PageEntry> entries_;
    std::vector<std::size_t> ranks_;
};

} // namespace stepstore::fields

// A place in a collocation key's row: what one flush published (index_row.h).
// Threads: any; pure. Errors: decode_row() gives -DER_DF_INVAL, -DER_CSUM or -DER_DF_INCOMPT.
#pragma once

#include "fields/page.h"

#include <cstdint>
#include <string>
#include <vector>

namespace stepstore::fields {

enum class PagesAt : std::uint8_t {
    inside = 1,      // the one part is in the record
    index_object = 2 // in the collocation key's index object
};

struct RowRecord {
    // A base says everything about the places before `covers`: its entries are all that is left of them. 0:
    // no base.
    std::uint64_t covers = 0;
    bool is_base = false;
    std::uint64_t writer = 0; // whose page,
    std::uint64_t page = 0;   // and which of its
    PageSummary summary;
    PagesAt where = PagesAt::inside;
    std::vector<std::string> firsts; // the text of each part's first entry
    std::vector<std::byte> inside;
};

// Whether a page can hold a match: each of its axes that the request names has a wanted value.
bool may_match(const RowRecord& record, const Request& request, const Key& collocation);

std::vector<std::byte> encode_row(const RowRecord& record);
RowRecord decode_row(Bytes bytes, const std::string& what);

std::string part_key(std::uint64_t writer, std::uint64_t page, std::size_t part); // "p/WRITER.PAGE/PART"
inline constexpr char part_prefix[] = "p/";

} // namespace stepstore::fields

// What the pages of an LMDB file are for, seen from its newest transaction: for choosing and counting
// damages.
#pragma once

#include <string>
#include <vector>

namespace stepstore::testing {

enum class PageKind : unsigned char { unused, meta, branch, leaf, large_value, free_list };
inline constexpr const char* page_kind_names[] = {"unused page", "meta page",   "branch page",
                                                  "leaf page",   "large value", "list of free pages"};
inline constexpr std::size_t index_page_size = 4096;

std::vector<PageKind> page_kinds(const std::string& file);

} // namespace stepstore::testing

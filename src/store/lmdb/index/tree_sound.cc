// What of the pages is verified before something is concluded from them, and before LMDB changes them.
//
// The damage in mind is one changed byte. Records have checksums over key and value, so what is found is
// right or known to be damaged. What remains is to miss something.
//
// In a leaf. A search looks at the entries on both sides of where it ends, and all it looks at is right but
// the damaged one. If that one leads it astray, the search ends directly before or after it. Then the
// damaged entry is a neighbour of the place, and it is out of order with the entry beside it: verify_place.
//
// In a branch. A damaged key or page number leads into a page to which the key does not belong. So the search
// ends before the first or after the last entry of a leaf, and only there is more to verify: verify_edge.
// The pages on the way lie between the keys of their parents. Of those that end there nothing was cut off.
// The page beside begins on the other side of the key between the two.
//
// LMDB makes the same probes as our search. So in a page that a transaction has not changed yet it meets only
// what was met before. A changed page is verified whole before it is met again, and so is what may be split
// or merged.
#include "store/lmdb/index/tree.h"

#include <utility>

namespace stepstore::store::lmdb {

namespace {

std::uint16_t place_of(const std::byte* page, unsigned index)
{
    return number_at<std::uint16_t>(page, page_header_size + std::size_t{2} * index);
}

} // namespace

// ---- pages

void Tree::verify(const Path& path, unsigned first) const
{
    for (unsigned level = first; level <= bottom(); ++level)
        verify_page(path, level);
}

// False: the page has no such border.
bool Tree::lower_border(const Path& path, unsigned level, Bytes& key) const
{
    while (level-- > 0) {
        if (path[level].index == 0) continue;
        key = node(path[level].page, path[level].index).key;
        return true;
    }
    return false;
}

bool Tree::upper_border(const Path& path, unsigned level, Bytes& key) const
{
    while (level-- > 0) {
        if (path[level].index + 1 == path[level].page.nodes) continue;
        key = node(path[level].page, path[level].index + 1).key;
        return true;
    }
    return false;
}

void Tree::verify_page(const Path& path, unsigned level) const
{
    const Page& page = path[level].page;
    const bool leaf = level == bottom();
    require_filled(page, leaf);
    Bytes before;
    Bytes border;
    // The first key of a branch is not used.
    for (unsigned index = leaf ? 0 : 1; index < page.nodes; ++index) {
        const Bytes key = node(page, index).key;
        if (key.empty() || key.size() > longest_key) damaged(page.number, "the size of a key");
        if (!before.empty() && compare(before, key) >= 0) damaged(page.number, "its keys are not in order");
        if (before.empty() && lower_border(path, level, border) && compare(key, border) < 0)
            damaged(page.number, "a key belongs before it");
        before = key;
    }
    if (!before.empty() && upper_border(path, level, border) && compare(before, border) >= 0)
        damaged(page.number, "a key belongs after it");
}

// One changed place or size of a node changes the sum of all sizes, or that of the squares of ends less
// begins.
void Tree::require_filled(const Page& page, bool leaf) const
{
    const std::uint64_t page_size = meta_.page_size;
    std::uint64_t taken = 0;
    std::uint64_t squares = 0;
    for (unsigned index = 0; index < page.nodes; ++index) {
        const std::uint64_t begin = place_of(page.bytes, index);
        if (begin < page.upper || begin + node_header_size > page_size)
            damaged(page.number, "the place of an entry");
        const std::byte* bytes = page.bytes + begin;
        std::uint64_t size = node_header_size + number_at<std::uint16_t>(bytes, 6);
        if (leaf) {
            const unsigned flags = number_at<std::uint16_t>(bytes, 4);
            if (flags > big_flag) damaged(page.number, "the kind of an entry");
            size += flags == big_flag ? 8 : value_size(bytes);
        }
        size += size % 2;
        if (begin + size > page_size) damaged(page.number, "the size of an entry");
        taken += size;
        squares += size * (2 * begin + size);
    }
    const std::uint64_t upper = page.upper;
    if (taken != page_size - upper || squares != page_size * page_size - upper * upper)
        damaged(page.number, "its entries do not fill it");
}

// LMDB puts new nodes below the lowest one.
void Tree::require_upper(const Page& page) const
{
    unsigned lowest = UINT16_MAX;
    for (unsigned index = 0; index < page.nodes; ++index)
        lowest = std::min<unsigned>(lowest, place_of(page.bytes, index));
    if (lowest != page.upper) damaged(page.number, "its entries do not fill it");
}

void Tree::require_ascending(const Page& page, unsigned index) const
{
    if (compare(node(page, index).key, node(page, index + 1).key) >= 0)
        damaged(page.number, "its keys are not in order");
}

// The page has no more nodes than it says: after their places there is none that could be one.
void Tree::require_end(const Page& page, unsigned level) const
{
    const unsigned first = level == bottom() ? 0 : 1;
    if (page.nodes >= first + 2) require_ascending(page, page.nodes - 2);
    const bool full = page_header_size + std::size_t{2} * (page.nodes + 1) > page.upper;
    if (!full && place_of(page.bytes, page.nodes) >= page.upper) require_filled(page, level == bottom());
}

// ---- places

void Tree::verify_place(Lookup& place) const
{
    if (place.verified) return;
    const Level& leaf = place.path[bottom()];
    if (leaf.index >= 2) require_ascending(leaf.page, leaf.index - 2);
    if (leaf.index + 1 < leaf.page.nodes) require_ascending(leaf.page, leaf.index);
    if (leaf.index == 0 || leaf.index == leaf.page.nodes) verify_edge(place);
    place.verified = true;
}

void Tree::verify_edge(const Lookup& place) const
{
    const Path& path = place.path;
    const bool behind = path[bottom()].index != 0;
    Path beside;
    copy(path, beside);
    const bool there = step(beside, behind) != 0;
    const Path& left = behind ? path : beside;
    const Path& right = behind ? beside : path;
    // The levels below this one end or begin here.
    unsigned above = bottom();
    while (there && above-- > 0 && right[above].index == 0) {
    }
    const unsigned first = there ? above + 1 : 0;
    verify_borders(path, first, behind);
    for (unsigned level = first; (there || behind) && level <= bottom(); ++level)
        require_end(left[level].page, level);
    if (!there) return;
    const Level& both = path[above];
    if (both.index >= 2) require_ascending(both.page, both.index - 1);
    if (both.index + 2 < both.page.nodes) require_ascending(both.page, both.index + 1);
    const Bytes border = node(right[above].page, right[above].index).key;
    const Page& other = beside[bottom()].page;
    const Bytes edge = node(other, behind ? 0 : other.nodes - 1).key;
    const Bytes key(place.key.data(), place.key_size);
    if (behind ? compare(edge, border) < 0 || compare(edge, key) <= 0 : compare(edge, border) >= 0)
        damaged(other.number, "a key belongs in the page beside it");
}

// The pages that end (after) or begin at a place lie between the keys of their parents.
void Tree::verify_borders(const Path& path, unsigned first, bool behind) const
{
    Bytes border;
    for (unsigned level = std::max(first, 1U); level <= bottom(); ++level) {
        const Page& page = path[level].page;
        const unsigned unused = level == bottom() ? 0 : 1;
        if (page.nodes <= unused) continue;
        const Bytes key = node(page, behind ? page.nodes - 1 : unused).key;
        if (behind ? lower_border(path, level, border) && compare(key, border) < 0
                   : upper_border(path, level, border) && compare(key, border) >= 0)
            damaged(page.number, "it is not the page that should be here");
    }
}

bool Tree::cross(bool forward)
{
    if (!std::exchange(whole_, false)) verify(path_);
    const unsigned first = step(path_, forward);
    if (first == 0) return false;
    verify(path_, first);
    whole_ = true;
    return true;
}

// ---- before LMDB reads and writes

Tree::Change& Tree::change_of(const Page& leaf)
{
    for (Change& one : changes_) {
        if (one.leaf != leaf.number) continue;
        one.again = true;
        return one;
    }
    Change& one = changes_[changed_ % changes_.size()];
    // What was forgotten may have been this one.
    one = {leaf.number, changed_ >= changes_.size(), false, false};
    ++changed_;
    return one;
}

// A page that LMDB may split, and those above it as far as they may be split too.
void Tree::verify_before_split(const Path& path) const
{
    constexpr std::size_t needed = node_header_size + max_key + 12 + 3; // of a page above, for one more below
    for (unsigned level = bottom();; --level) {
        verify_page(path, level);
        if (level == 0) return;
        const Page& above = path[level - 1].page;
        if (above.upper < page_header_size + std::size_t{2} * above.nodes + needed) continue;
        return require_upper(above);
    }
}

void Tree::verify_with_neighbours(const Path& path, Change& change) const
{
    if (change.neighbours) return;
    verify(path);
    for (const bool forward : {false, true}) {
        Path beside;
        copy(path, beside);
        if (step(beside, forward) != 0) verify(beside);
    }
    change.sound = change.neighbours = true;
}

void Tree::require_sound_for_lookup(Bytes key)
{
    if (empty()) return;
    const Lookup& place = locate(key);
    const Level& leaf = place.path[bottom()];
    require_filled(leaf.page, true);
    for (const bool forward : {false, true}) {
        if (forward ? leaf.index + 1 < leaf.page.nodes : leaf.index > 0) continue;
        Path beside;
        copy(place.path, beside);
        if (step(beside, forward) != 0) require_filled(beside[bottom()].page, true);
    }
}

void Tree::require_sound_for_put(Bytes key, std::size_t size)
{
    if (empty()) return;
    Lookup& place = locate(key);
    const Level& leaf = place.path[bottom()];
    Change& change = change_of(leaf.page);
    if (!place.found)
        verify_place(place);
    else if (value(leaf.page, leaf.index).size() == size && !change.again)
        return; // it is replaced where it is, or its own pages are given back
    if (change.sound) return;
    require_upper(leaf.page);
    const std::size_t whole = node_header_size + key.size() + size;
    const bool big = whole > (meta_.page_size - page_header_size) / 2 - 2;
    const std::size_t needed = (big ? node_header_size + key.size() + 8 : whole) + 3;
    const std::size_t taken = page_header_size + std::size_t{2} * leaf.page.nodes;
    if (!change.again && leaf.page.upper >= taken + needed) return;
    verify_before_split(place.path);
    change.sound = true;
}

void Tree::require_sound_for_erase(Bytes key)
{
    if (empty()) return;
    Lookup& place = locate(key);
    const Level& leaf = place.path[bottom()];
    if (!place.found) verify_place(place);
    Change& change = change_of(leaf.page);
    if (change.again) return verify_with_neighbours(place.path, change);
    if (!place.found) return;
    const std::size_t size = node_header_size + key.size() + value(leaf.page, leaf.index).size() + 1;
    const std::size_t filled = meta_.page_size - leaf.page.upper;
    // A page that is left with less than a quarter takes from one beside it, or goes into it. After the last
    // entry LMDB looks at the page beside.
    if (leaf.index + 1 == leaf.page.nodes || filled < size + meta_.page_size / 3)
        verify_with_neighbours(place.path, change);
    else
        require_upper(leaf.page);
}

// The list is a tree of the same kind, whose keys are versions. LMDB takes from its front and adds to its
// end.
void Tree::require_sound_free_pages() const
{
    const std::uint64_t depth = meta_.free_pages.depth;
    if (depth == 0) return;
    for (const bool last : {false, true}) {
        std::uint64_t number = meta_.free_pages.root;
        for (std::uint64_t level = 1; level < depth; ++level) {
            const Page page = load(number, false);
            require_filled(page, false);
            number = child(page, last ? page.nodes - 1 : 0);
        }
        const Page page = load(number, true);
        require_filled(page, true);
        require_page_numbers(page);
        if (depth == 1) return;
    }
}

// The versions ascend, and the numbers of the pages that each has freed descend. The page is filled.
void Tree::require_page_numbers(const Page& page) const
{
    std::uint64_t version = 0;
    for (unsigned index = 0; index < page.nodes; ++index) {
        const std::byte* entry = page.bytes + place_of(page.bytes, index);
        const std::uint64_t before =
            std::exchange(version, number_at<std::uint64_t>(entry, node_header_size));
        bool sound = number_at<std::uint16_t>(entry, 6) == sizeof version && before < version &&
                     version <= meta_.transaction;
        if (!sound) damaged(page.number, "a list of free pages");
        const Bytes numbers = value(page, index);
        const std::uint64_t room = numbers.size() / 8;
        const std::uint64_t count = room == 0 ? 0 : number_at<std::uint64_t>(numbers.data(), 0);
        if (count >= room) damaged(page.number, "a list of free pages");
        std::uint64_t above = meta_.last_page + 1;
        for (const std::byte* each = numbers.data() + 8; each != numbers.data() + 8 * (count + 1); each += 8)
            sound &=
                std::exchange(above, number_at<std::uint64_t>(each, 0)) > number_at<std::uint64_t>(each, 0);
        if (!sound || above < 2) damaged(page.number, "a list of free pages");
    }
}

} // namespace stepstore::store::lmdb

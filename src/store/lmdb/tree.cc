#include "store/lmdb/tree.h"

#include "base/files.h"
#include "store/lmdb/errors.h"

#include <daos_errno.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <sys/mman.h>

namespace stepstore::store::lmdb {

namespace {

constexpr std::size_t header_size = 16; // of a page: number (8), pad (2), flags (2), lower (2), upper (2)
constexpr std::size_t node_size = 8;    // of a node, before its key: low (2), high (2), flags (2), key size (2)
constexpr unsigned branch_flag = 0x01, leaf_flag = 0x02, overflow_flag = 0x04;
constexpr unsigned big_flag = 0x01; // of a node: the value lies in pages of its own

template <class T>
T at(const std::byte* bytes, std::size_t offset)
{
    T result;
    std::memcpy(&result, bytes + offset, sizeof result);
    return result;
}

int order(Bytes a, Bytes b)
{
    const int common = std::memcmp(a.data(), b.data(), std::min(a.size(), b.size()));
    if (common != 0) return common;
    return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
}

std::uint32_t data_size(const std::byte* node)
{
    return at<std::uint16_t>(node, 0) | std::uint32_t{at<std::uint16_t>(node, 2)} << 16;
}

} // namespace

// ---- where pages come from

IndexMap::~IndexMap()
{
    for (const auto& one : all_)
        munmap(const_cast<std::byte*>(one->address), one->length);
}

const std::byte* IndexMap::grow(std::uint64_t length)
{
    const std::lock_guard lock(guard_);
    const Mapping* now = newest_.load();
    if (now != nullptr && now->length >= length) return now->address; // another thread was faster
    const std::uint64_t whole = std::max<std::uint64_t>(std::bit_ceil(length), 1U << 20);
    void* address = mmap(nullptr, whole, PROT_READ, MAP_SHARED, fd_, 0); // beyond the file's end too: it grows
    if (address == MAP_FAILED) return nullptr;
    all_.push_back(std::make_unique<Mapping>(static_cast<const std::byte*>(address), whole));
    newest_.store(all_.back().get(), std::memory_order_release);
    return all_.back()->address;
}

const std::byte* PageCopies::pages(std::uint64_t first, std::uint64_t count)
{
    Run& run = runs_[first];
    if (run.bytes && run.count >= count) return run.bytes.get();
    const std::uint64_t length = count * meta_.page_size;
    auto bytes = std::make_unique_for_overwrite<std::byte[]>(length);
    const std::int64_t got = read_all(fd_, {bytes.get(), length}, first * meta_.page_size);
    if (newest_transaction(fd_, meta_.page_size) > meta_.transaction + 1) throw SnapshotGone{};
    if (got != static_cast<std::int64_t>(length)) return nullptr;
    if (run.bytes) kept_.push_back(std::move(run.bytes)); // somebody may look at it
    run = {std::move(bytes), count};
    return run.bytes.get();
}

// ---- pages and nodes

void Tree::damaged(std::uint64_t page, const char* what) const
{
    throw Error(-DER_CSUM, where_ + ": page " + std::to_string(page) + " of the index is damaged (" + what +
                               "): \"stepstore pool check\" says what can be saved");
}

Tree::Page Tree::load(std::uint64_t number, unsigned level) const
{
    if (number < 2 || number > meta_.last_page) damaged(number, "it does not exist, but is referred to");
    const std::byte* bytes = map_ != nullptr ? map_ + number * meta_.page_size : copies_->pages(number, 1);
    if (bytes == nullptr) damaged(number, "the file ends before it");
    const unsigned flags = at<std::uint16_t>(bytes, 10);
    const unsigned lower = at<std::uint16_t>(bytes, 12);
    const unsigned upper = at<std::uint16_t>(bytes, 14);
    const unsigned kind = level == bottom() ? leaf_flag : branch_flag;
    if (at<std::uint64_t>(bytes, 0) != number || (flags & (branch_flag | leaf_flag | overflow_flag)) != kind)
        damaged(number, "it is not the page that should be here");
    if (lower <= header_size || lower % 2 != 0 || upper < lower || upper > meta_.page_size)
        damaged(number, "its header");
    return {bytes, number, static_cast<unsigned>((lower - header_size) / 2), upper};
}

Tree::Node Tree::node(const Page& page, unsigned index) const
{
    const std::size_t offset = at<std::uint16_t>(page.bytes, header_size + std::size_t{2} * index);
    if (offset < page.upper || offset + node_size > meta_.page_size) damaged(page.number, "the place of an entry");
    const std::byte* bytes = page.bytes + offset;
    const std::size_t key_size = at<std::uint16_t>(bytes, 6);
    const std::size_t room = meta_.page_size - offset;
    if (node_size + key_size > room) damaged(page.number, "the size of a key");
    return {bytes, {bytes + node_size, key_size}, room};
}

std::uint64_t Tree::child(const Page& page, unsigned index) const
{
    const std::byte* bytes = node(page, index).bytes;
    return data_size(bytes) | std::uint64_t{at<std::uint16_t>(bytes, 4)} << 32;
}

Bytes Tree::value(const Page& page, unsigned index) const
{
    const Node entry = node(page, index);
    const std::size_t size = data_size(entry.bytes);
    const std::size_t begin = node_size + entry.key.size();
    const unsigned flags = at<std::uint16_t>(entry.bytes, 4);
    if (flags == 0) {
        if (begin + size > entry.room) damaged(page.number, "the size of a value");
        return {entry.bytes + begin, size};
    }
    if (flags != big_flag || begin + 8 > entry.room) damaged(page.number, "the kind of an entry");
    const auto first = at<std::uint64_t>(entry.bytes, begin);
    const std::uint64_t count = (header_size + size + meta_.page_size - 1) / meta_.page_size;
    if (first < 2 || first > meta_.last_page || count > meta_.last_page - first + 1)
        damaged(page.number, "the place of a large value");
    const std::byte* run = map_ != nullptr ? map_ + first * meta_.page_size : copies_->pages(first, count);
    if (run == nullptr) damaged(first, "the file ends before it");
    if (at<std::uint64_t>(run, 0) != first || (at<std::uint16_t>(run, 10) & overflow_flag) == 0 ||
        at<std::uint32_t>(run, 12) < count)
        damaged(first, "it does not begin the value that should be here");
    return {run + header_size, size};
}

// ---- ways through the tree

void Tree::descend_along(Path& path, unsigned from, bool last) const
{
    for (unsigned level = from; level <= bottom(); ++level) {
        const std::uint64_t number =
            level == 0 ? meta_.content.root : child(path[level - 1].page, path[level - 1].index);
        path[level].page = load(number, level);
        path[level].index = last ? path[level].page.nodes - 1 : 0;
    }
}

bool Tree::descend(Path& path, Bytes key) const
{
    for (unsigned level = 0;; ++level) {
        const Page page =
            load(level == 0 ? meta_.content.root : child(path[level - 1].page, path[level - 1].index), level);
        const bool leaf = level == bottom();
        // The probes of LMDB's own search: on a damaged page it goes the same way.
        int low = leaf ? 0 : 1; // the first key of a branch is less than every other, whatever it says
        int high = static_cast<int>(page.nodes) - 1;
        int found = 1;
        int middle = 0;
        while (low <= high) {
            middle = (low + high) / 2;
            found = order(key, node(page, static_cast<unsigned>(middle)).key);
            if (found == 0) break;
            if (found > 0)
                low = middle + 1;
            else
                high = middle - 1;
        }
        const bool exact = found == 0;
        const auto place = static_cast<unsigned>(exact ? middle : low); // of the first that is not less
        path[level].page = page;
        if (leaf) {
            path[level].index = place;
            return exact;
        }
        path[level].index = exact ? place : place - 1;
    }
}

bool Tree::step(Path& path, bool forward) const
{
    for (unsigned level = bottom(); level-- > 0;) {
        Level& here = path[level];
        if (forward ? here.index + 1 < here.page.nodes : here.index > 0) {
            here.index += forward ? 1U : -1U;
            descend_along(path, level + 1, !forward);
            return true;
        }
    }
    return false;
}

// ---- verifying

void Tree::verify(const Path& path) const
{
    for (unsigned level = 0; level <= bottom(); ++level)
        verify_page(path, level);
}

void Tree::verify_page(const Path& path, unsigned level) const
{
    const Page& page = path[level].page;
    const bool leaf = level == bottom();
    Bytes low;
    Bytes high;
    bool bounded_below = false;
    bool bounded_above = false;
    for (unsigned above = level; above-- > 0 && !(bounded_below && bounded_above);) {
        const Level& parent = path[above];
        if (!bounded_below && parent.index > 0) {
            low = node(parent.page, parent.index).key;
            bounded_below = true;
        }
        if (!bounded_above && parent.index + 1 < parent.page.nodes) {
            high = node(parent.page, parent.index + 1).key;
            bounded_above = true;
        }
    }
    require_filled(page, leaf);
    Bytes before;
    for (unsigned index = leaf ? 0 : 1; index < page.nodes; ++index) { // the first key of a branch is not used
        const Bytes key = node(page, index).key;
        if (key.empty() || key.size() > max_key + 12) damaged(page.number, "the size of a key");
        if (!before.empty() && order(before, key) >= 0) damaged(page.number, "its keys are not in order");
        if (before.empty() && bounded_below && order(key, low) < 0) damaged(page.number, "a key belongs before it");
        before = key;
    }
    if (bounded_above && !before.empty() && order(before, high) >= 0) damaged(page.number, "a key belongs behind it");
}

void Tree::require_filled(const Page& page, bool leaf) const
{
    std::size_t taken = 0;
    for (unsigned index = 0; index < page.nodes; ++index) {
        const Node each = node(page, index);
        std::size_t size = node_size + each.key.size();
        if (leaf) {
            const unsigned flags = at<std::uint16_t>(each.bytes, 4);
            if (flags > big_flag) damaged(page.number, "the kind of an entry");
            size += flags == big_flag ? 8 : data_size(each.bytes);
            if (size > each.room) damaged(page.number, "the size of an entry");
        }
        taken += size + size % 2;
    }
    if (taken != meta_.page_size - page.upper) damaged(page.number, "its entries do not fill it");
}

// A key of the parents that was changed shows in the page beside.
void Tree::verify_neighbour(const Path& path, bool forward) const
{
    Path beside = path;
    if (step(beside, forward)) verify(beside);
}

// The keys around a place of a page ascend.
void Tree::verify_around(const Level& at, unsigned first) const
{
    const unsigned end = std::min(at.index + 2, at.page.nodes);
    Bytes before;
    for (unsigned index = std::max(first, at.index - std::min(at.index, 2U)); index < end; ++index) {
        const Bytes each = node(at.page, index).key;
        if (!before.empty() && order(before, each) >= 0) damaged(at.page.number, "its keys are not in order");
        before = each;
    }
}

void Tree::verify_place(const Path& path, Bytes key) const
{
    const Level& leaf = path[bottom()];
    verify_around(leaf, 0);
    if (leaf.index > 0 && order(node(leaf.page, leaf.index - 1).key, key) >= 0)
        damaged(leaf.page.number, "its keys are not in order");
    const bool behind = leaf.index == leaf.page.nodes;
    if (leaf.index != 0 && !behind) return;
    for (unsigned level = 0; level < bottom(); ++level) {
        verify_around(path[level], 1);
        if (path[level].index + 1 == path[level].page.nodes) require_filled(path[level].page, false);
    }
    Path beside = path;
    const bool there = step(beside, behind);
    // Of the page that ends here no entry may be missing at its end.
    if (behind || there) require_filled(behind ? leaf.page : beside[bottom()].page, true);
    if (!there) return;
    // What lies between the two pages in their parents' eyes does so in theirs.
    const Path& right = behind ? beside : path;
    unsigned above = bottom();
    while (above-- > 0 && right[above].index == 0) {
    }
    const Bytes border = node(right[above].page, right[above].index).key;
    const Page& other = beside[bottom()].page;
    const Bytes edge = node(other, behind ? 0 : other.nodes - 1).key;
    if (behind ? order(edge, border) < 0 || order(edge, key) <= 0 : order(edge, border) >= 0)
        damaged(other.number, "a key belongs into the page beside it");
}

bool Tree::cross(Path& path, bool forward) const
{
    verify(path);
    if (!step(path, forward)) return false;
    verify(path);
    return true;
}

// ---- before LMDB writes

void Tree::require_sound_for_lookup(Bytes key) const
{
    if (empty()) return;
    Path path;
    descend(path, key);
    const Level& leaf = path[bottom()];
    require_filled(leaf.page, true);
    const bool behind = leaf.index == leaf.page.nodes;
    if (leaf.index != 0 && !behind) return;
    if (step(path, behind)) require_filled(path[bottom()].page, true);
}

void Tree::require_sound_for_put(Bytes key, std::size_t size) const
{
    if (empty()) return;
    Path path;
    const bool there = descend(path, key);
    const Level& leaf = path[bottom()];
    require_filled(leaf.page, true);
    if (!there)
        verify_place(path, key);
    else if (value(leaf.page, leaf.index).size() == size)
        return; // it is replaced where it is, or its own pages are given back
    const std::size_t taken = header_size + std::size_t{2} * leaf.page.nodes;
    const std::size_t most = meta_.page_size / 2; // a longer value lies in pages of its own
    const std::size_t needed = node_size + key.size() + std::min(size, most) + 3;
    if (leaf.page.upper < taken + needed) verify(path); // it may be split, and so may its parents
}

void Tree::require_sound_for_erase(Bytes key) const
{
    if (empty()) return;
    Path path;
    const bool there = descend(path, key);
    const Level& leaf = path[bottom()];
    require_filled(leaf.page, true);
    if (!there) return verify_place(path, key);
    (void)value(leaf.page, leaf.index);
    // A page that is left with less than a quarter takes from one beside it, or goes into it.
    if (meta_.page_size - leaf.page.upper > meta_.page_size / 2 && leaf.page.nodes > 4) return;
    verify(path);
    for (const bool forward : {false, true})
        verify_neighbour(path, forward);
}

void Tree::require_sound_free_pages() const
{
    if (meta_.free_pages.depth == 0) return;
    Meta meta = meta_; // the list is a tree of the same kind, whose keys are versions
    meta.content = meta_.free_pages;
    const Tree list(meta, map_, copies_, where_);
    Path path;
    for (const bool last : {false, true}) { // LMDB takes from the front and adds to the end
        list.descend_along(path, 0, last);
        for (unsigned level = 0; level <= list.bottom(); ++level)
            list.require_filled(path[level].page, level == list.bottom());
        list.require_page_numbers(path[list.bottom()].page);
        if (list.bottom() == 0) return;
    }
}

void Tree::require_page_numbers(const Page& page) const
{
    for (unsigned index = 0; index < page.nodes; ++index) {
        const Bytes numbers = value(page, index);
        const std::uint64_t count = numbers.size() < 8 ? 0 : at<std::uint64_t>(numbers.data(), 0);
        if (numbers.size() < 8 || node(page, index).key.size() != 8 || count > numbers.size() / 8 - 1)
            damaged(page.number, "a list of free pages");
        std::uint64_t before = meta_.last_page + 1;
        for (std::uint64_t each = 1; each <= count; ++each) { // they descend
            const auto number = at<std::uint64_t>(numbers.data(), each * 8);
            if (number < 2 || number >= before) damaged(page.number, "a list of free pages");
            before = number;
        }
    }
}

// ---- the transaction

bool Tree::get(Bytes key, Bytes& found)
{
    if (empty() || key.empty() || key.size() > max_key) return false;
    Path path;
    if (!descend(path, key)) {
        verify_place(path, key);
        return false;
    }
    found = value(path[bottom()].page, path[bottom()].index);
    return true;
}

bool Tree::give(Entry& entry)
{
    const Level& leaf = path_[bottom()];
    position_ = node(leaf.page, leaf.index).key;
    if (position_.empty()) damaged(leaf.page.number, "the size of a key");
    placed_ = true;
    astray_ = false;
    entry = {position_, value(leaf.page, leaf.index)};
    return true;
}

bool Tree::lost()
{
    astray_ = true;
    return false;
}

bool Tree::seek(Bytes key, Entry& entry)
{
    if (empty()) return false;
    astray_ = true; // until it is given
    if (key.empty()) {
        descend_along(path_, 0, false);
        verify(path_);
    } else if (!descend(path_, key)) {
        verify_place(path_, key);
    }
    const Level& leaf = path_[bottom()];
    return leaf.index < leaf.page.nodes || step(path_, true) ? give(entry) : lost(); // what is behind was verified
}

bool Tree::seek_last(Bytes key, Entry& entry)
{
    if (empty() || key.empty()) return false;
    astray_ = true;
    if (!descend(path_, key)) verify_place(path_, key);
    Level& leaf = path_[bottom()];
    if (leaf.index == 0) return cross(path_, false) ? give(entry) : lost();
    --leaf.index;
    return give(entry);
}

// False: what was last given is not found again.
bool Tree::find_position()
{
    if (!placed_) return false;
    if (astray_ && !descend(path_, position_)) return false;
    astray_ = true; // until the next one is given
    return true;
}

bool Tree::go_on(Entry& entry, bool forward)
{
    const Bytes before = position_;
    if (!give(entry)) return false;
    const int found = order(before, position_);
    const Level& leaf = path_[bottom()];
    if (forward ? found >= 0 : found <= 0) damaged(leaf.page.number, "its keys are not in order");
    // The caller may stop at this one because it is so far away: then those between it and the last one are missed.
    if (forward && leaf.index + 1 < leaf.page.nodes && order(position_, node(leaf.page, leaf.index + 1).key) >= 0)
        damaged(leaf.page.number, "its keys are not in order");
    if (!forward && leaf.index > 0 && order(node(leaf.page, leaf.index - 1).key, position_) >= 0)
        damaged(leaf.page.number, "its keys are not in order");
    return true;
}

bool Tree::next(Entry& entry)
{
    if (!find_position()) return false;
    Level& leaf = path_[bottom()];
    return ++leaf.index < leaf.page.nodes || cross(path_, true) ? go_on(entry, true) : lost();
}

bool Tree::previous(Entry& entry)
{
    if (!find_position()) return false;
    Level& leaf = path_[bottom()];
    if (leaf.index == 0) return cross(path_, false) ? go_on(entry, false) : lost();
    --leaf.index;
    return go_on(entry, false);
}

} // namespace stepstore::store::lmdb

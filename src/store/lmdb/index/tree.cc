#include "store/lmdb/index/tree.h"

#include "base/files.h"
#include "store/lmdb/sharing/errors.h"

#include <daos_errno.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace stepstore::store::lmdb {

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
    // beyond the file's end too: it grows
    void* address = mmap(nullptr, whole, PROT_READ, MAP_SHARED, fd_, 0);
    if (address == MAP_FAILED) return nullptr;
    all_.push_back(std::make_unique<Mapping>(static_cast<const std::byte*>(address), whole));
    newest_.store(all_.back().get(), std::memory_order_release);
    return all_.back()->address;
}

IndexMemory::~IndexMemory()
{
    if (address_ != nullptr) munmap(address_, length_);
}

std::byte* IndexMemory::of(std::uint64_t length)
{
    constexpr std::uint64_t least_part = 4; // of the machine's memory
    constexpr std::uint64_t step = std::uint64_t{64} << 20;
    if (length <= length_) return address_;
    const auto machine = static_cast<std::uint64_t>(std::max(sysconf(_SC_PHYS_PAGES), 0L)) *
                         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const std::uint64_t whole = (length + step - 1) / step * step; // it grows
    if (whole > machine / least_part) return nullptr;
    if (address_ != nullptr) munmap(address_, length_);
    void* address =
        mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    address_ = address != MAP_FAILED ? static_cast<std::byte*>(address) : nullptr;
    length_ = address_ != nullptr ? whole : 0;
    if (address_ != nullptr) madvise(address_, length_, MADV_HUGEPAGE);
    return address_;
}

const std::byte* PageCopies::pages(std::uint64_t first, std::uint64_t count)
{
    const std::uint64_t length = count * meta_.page_size;
    if (all_ != nullptr) {
        const std::uint64_t begin = first * meta_.page_size;
        return begin + length <= all_length_ ? all_ + begin : nullptr;
    }
    Run& run = runs_[first];
    if (run.bytes && run.count >= count) return run.bytes.get();
    taken_ += count;
    auto bytes = std::make_unique_for_overwrite<std::byte[]>(length);
    const std::int64_t got = read_all(fd_, {bytes.get(), length}, first * meta_.page_size);
    require_there();
    if (got != static_cast<std::int64_t>(length)) return nullptr;
    if (run.bytes) kept_.push_back(std::move(run.bytes)); // somebody may look at it
    run = {std::move(bytes), count};
    return run.bytes.get();
}

void PageCopies::take_all(IndexMemory& memory)
{
    constexpr std::uint64_t at_once = std::uint64_t{16} << 20; // bytes
    const std::uint64_t length = (meta_.last_page + 1) * meta_.page_size;
    std::byte* all = memory.of(length);
    if (all == nullptr) return;
    std::uint64_t at = 0;
    while (at < length) {
        const std::uint64_t part = std::min(at_once, length - at);
        const std::int64_t got = read_all(fd_, {all + at, part}, at);
        require_there();
        if (got < 0) return;
        at += static_cast<std::uint64_t>(got);
        if (got != static_cast<std::int64_t>(part)) break;
    }
    all_ = all;
    all_length_ = at;
}

void PageCopies::require_there()
{
    if (newest_transaction(fd_, meta_.page_size) <= meta_.transaction + 1) return;
    if (view_ == nullptr || !view_->keeps(meta_.transaction)) throw SnapshotGone{};
}

// ---- pages and nodes

void Tree::damaged(std::uint64_t page, const char* what) const
{
    throw Error(-DER_CSUM, where_ + ": page " + std::to_string(page) + " of the index is damaged (" + what +
                               "): \"stepstore pool check\" says what can be saved");
}

Tree::Page Tree::load(std::uint64_t number, bool leaf) const
{
    if (number < 2 || number > meta_.last_page) damaged(number, "it does not exist, but is referred to");
    const std::byte* bytes = map_ != nullptr ? map_ + number * meta_.page_size : copies_->pages(number, 1);
    if (bytes == nullptr) damaged(number, "the file ends before it");
    const unsigned flags = number_at<std::uint16_t>(bytes, 10);
    const unsigned lower = number_at<std::uint16_t>(bytes, 12);
    const unsigned upper = number_at<std::uint16_t>(bytes, 14);
    const unsigned kind = leaf ? leaf_flag : branch_flag;
    if (number_at<std::uint64_t>(bytes, 0) != number || flags != kind)
        damaged(number, "it is not the page that should be here");
    if (lower <= page_header_size || lower % 2 != 0 || upper < lower || upper > meta_.page_size)
        damaged(number, "its header");
    return {bytes, number, static_cast<unsigned>((lower - page_header_size) / 2), upper};
}

Bytes Tree::value(const Page& page, unsigned index) const
{
    const Node entry = node(page, index);
    const std::size_t size = value_size(entry.bytes);
    const std::size_t begin = node_header_size + entry.key.size();
    const unsigned flags = number_at<std::uint16_t>(entry.bytes, 4);
    if (flags == 0) {
        if (begin + size > entry.room) damaged(page.number, "the size of a value");
        return {entry.bytes + begin, size};
    }
    if (flags != big_flag || begin + 8 > entry.room) damaged(page.number, "the kind of an entry");
    const auto first = number_at<std::uint64_t>(entry.bytes, begin);
    const std::uint64_t count = (page_header_size + size + meta_.page_size - 1) / meta_.page_size;
    if (first < 2 || first > meta_.last_page || count > meta_.last_page - first + 1)
        damaged(page.number, "the place of a large value");
    const std::byte* run = map_ != nullptr ? map_ + first * meta_.page_size : copies_->pages(first, count);
    if (run == nullptr) damaged(first, "the file ends before it");
    if (number_at<std::uint64_t>(run, 0) != first || number_at<std::uint16_t>(run, 10) != overflow_flag ||
        number_at<std::uint32_t>(run, 12) < count)
        damaged(first, "it does not begin the value that should be here");
    return {run + page_header_size, size};
}

// ---- ways through the tree

void Tree::descend_along(Path& path, unsigned from, bool last) const
{
    for (unsigned level = from; level <= bottom(); ++level) {
        const std::uint64_t number =
            level == 0 ? meta_.content.root : child(path[level - 1].page, path[level - 1].index);
        path[level].page = load(number, level == bottom());
        path[level].index = last ? path[level].page.nodes - 1 : 0;
    }
}

bool Tree::descend(Path& path, Bytes key) const
{
    for (unsigned level = 0;; ++level) {
        const bool leaf = level == bottom();
        const Page page =
            load(level == 0 ? meta_.content.root : child(path[level - 1].page, path[level - 1].index), leaf);
        // The probes of LMDB's own search: on a damaged page it goes the same way.
        int low = leaf ? 0 : 1; // the first key of a branch is less than every other, whatever it says
        int high = static_cast<int>(page.nodes) - 1;
        int found = 1;
        int middle = 0;
        while (low <= high) {
            middle = (low + high) / 2;
            found = compare(key, node(page, static_cast<unsigned>(middle)).key);
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

unsigned Tree::step(Path& path, bool forward) const
{
    for (unsigned level = bottom(); level-- > 0;) {
        Level& here = path[level];
        if (forward ? here.index + 1 < here.page.nodes : here.index > 0) {
            here.index += forward ? 1U : -1U;
            descend_along(path, level + 1, !forward);
            return level + 1;
        }
    }
    return 0;
}

Tree::Lookup& Tree::locate(Bytes key)
{
    const Bytes known(lookup_.key.data(), lookup_.key_size);
    const bool same = !known.empty() && key.size() == known.size();
    if (same && std::memcmp(key.data(), known.data(), key.size()) == 0) return lookup_;
    lookup_.key_size = 0;
    // Where nothing is missing between two entries, it is so for each key that belongs there.
    const bool verified = std::exchange(lookup_.verified, false) && !lookup_.found;
    const std::uint64_t leaf = verified ? lookup_.path[bottom()].page.number : 0;
    const unsigned index = verified ? lookup_.path[bottom()].index : 0;
    lookup_.found = descend(lookup_.path, key);
    const Level& now = lookup_.path[bottom()];
    lookup_.verified = verified && !lookup_.found && now.page.number == leaf && now.index == index;
    if (key.size() > lookup_.key.size()) return lookup_; // looked for again
    std::memcpy(lookup_.key.data(), key.data(), key.size());
    lookup_.key_size = key.size();
    return lookup_;
}

// ---- the transaction

bool Tree::get(Bytes key, Bytes& found)
{
    if (empty() || key.empty() || key.size() > max_key) return false;
    Lookup& place = locate(key);
    const Level& leaf = place.path[bottom()];
    if (place.found)
        found = value(leaf.page, leaf.index);
    else
        verify_place(place);
    return place.found;
}

bool Tree::give(Entry& entry, bool forward, bool ascends)
{
    const Level& leaf = path_[bottom()];
    position_ = node(leaf.page, leaf.index).key;
    if (position_.empty() || position_.size() > longest_key) damaged(leaf.page.number, "the size of a key");
    // The caller may stop here, or merge this walk with another, because this one is so far away.
    Bytes ahead;
    const unsigned index = leaf.index;
    if (whole_) {
        // so it lies between its neighbours
    } else if (forward) {
        if (index + 1 < leaf.page.nodes) {
            if (!ascends) require_ascending(leaf.page, index);
        } else if (upper_border(path_, bottom(), ahead) && compare(position_, ahead) >= 0) {
            damaged(leaf.page.number, "a key belongs after it");
        }
    } else if (index > 0) {
        require_ascending(leaf.page, index - 1);
    } else if (lower_border(path_, bottom(), ahead) && compare(position_, ahead) < 0) {
        damaged(leaf.page.number, "a key belongs before it");
    }
    placed_ = true;
    astray_ = false;
    entry = {position_, value(leaf.page, index)};
    return true;
}

bool Tree::lost()
{
    astray_ = true;
    whole_ = false;
    verified_side_ = Side::none;
    return false;
}

bool Tree::seek(Bytes key, Entry& entry)
{
    if (empty()) return false;
    lost(); // until it is given
    if (key.empty()) {
        descend_along(path_, 0, false);
        verify(path_);
        whole_ = true;
        return give(entry, true);
    }
    Lookup& place = locate(key);
    copy(place.path, path_);
    if (!place.found) {
        verify_place(place);
        verified_side_ = Side::before;
    }
    const Level& leaf = path_[bottom()];
    const bool here = leaf.index < leaf.page.nodes;
    return here || step(path_, true) != 0 ? give(entry, true, here && !place.found) : lost();
}

bool Tree::seek_last(Bytes key, Entry& entry)
{
    if (empty() || key.empty()) return false;
    lost();
    Lookup& place = locate(key);
    copy(place.path, path_);
    if (!place.found) {
        verify_place(place);
        verified_side_ = Side::before; // of the place
    }
    if (!move(false)) return lost();
    if (!place.found) verified_side_ = Side::behind; // of what is given
    return give(entry, false);
}

// False: what was last given is not found again.
bool Tree::find_position()
{
    if (!placed_) return false;
    if (astray_) {
        lost();
        if (!descend(path_, position_)) return false;
    }
    astray_ = true; // until the next one is given
    return true;
}

// To the entry beside. False: there is none.
bool Tree::move(bool forward)
{
    Level& leaf = path_[bottom()];
    const bool verified = verified_side_ == (forward ? Side::behind : Side::before);
    verified_side_ = Side::none;
    if (forward ? leaf.index + 1 < leaf.page.nodes : leaf.index > 0) {
        leaf.index += forward ? 1U : -1U;
        return true;
    }
    return verified ? step(path_, forward) != 0 : cross(forward);
}

bool Tree::go_on(Entry& entry, bool forward)
{
    if (!find_position()) return false;
    const Bytes from = position_;
    if (!move(forward)) return lost();
    give(entry, forward);
    if (whole_) return true;
    const int found = compare(from, position_);
    if (forward ? found >= 0 : found <= 0) damaged(path_[bottom()].page.number, "its keys are not in order");
    return true;
}

} // namespace stepstore::store::lmdb

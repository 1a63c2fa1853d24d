// Reads an index without LMDB: a walk over the pages of its file that believes nothing it reads. LMDB itself trusts
// its pages, so that one damaged byte can end the process; here every offset is checked before it is followed.
//
// What is promised:
// - No content of the file can lead outside of it, or into a walk without end.
// - A page that is not what its parent says (number, kind, depth) is DER_CSUM.
// - What was not found is not there. Where a lookup ends between two entries, these and the next ones ascend. So if one
//   key or one place of an entry is damaged such that the search went past what it looked for, then that entry is a
//   neighbour of the place (the store compares the neighbour's checksum), or the order is broken. Where a lookup ends
//   at the edge of a page, or a walk goes from a page to the next, all pages of both ways are verified: their entries
//   fill them without gap or overlap, and their keys ascend and lie between the keys of their parents.
// - A walk goes in one direction: each key is greater (or less) than the one before.
// Not seen: a page number that was changed into that of an older copy of the same page; and keys that still lie
// between their neighbours, which the checksums of the records tell.
//
// Two sources of pages:
// - The map (IndexMap), for a process with a slot in LMDB's table of readers: writers leave its pages alone.
// - Copies (PageCopies), for a process that may not write the lock file, so that writers do not know of it. LMDB
//   overwrites a page of version N at the earliest in transaction N + 3, which begins after N + 2 was committed. So a
//   copy is right if N + 2 is not committed when the copy is complete; else SnapshotGone ends the transaction.
#pragma once

#include "store/backend.h"
#include "store/lmdb/pages.h"

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace stepstore::store::lmdb {

// Others have written so much since that the pages of this version are used again.
struct SnapshotGone {};

// The index file, mapped for reading. It grows; what was mapped once stays so until the end.
class IndexMap {
public:
    explicit IndexMap(int fd) : fd_(fd) {}
    ~IndexMap();
    IndexMap(const IndexMap&) = delete;
    IndexMap& operator=(const IndexMap&) = delete;
    // The file from its beginning, at least `length` bytes, which must be there. nullptr and errno on failure.
    const std::byte* covering(std::uint64_t length)
    {
        const Mapping* now = newest_.load(std::memory_order_acquire);
        return now != nullptr && now->length >= length ? now->address : grow(length);
    }

private:
    struct Mapping {
        const std::byte* address;
        std::uint64_t length;
    };
    const std::byte* grow(std::uint64_t length);
    const int fd_;
    std::atomic<const Mapping*> newest_{nullptr};
    std::mutex guard_; // guards all_
    std::vector<std::unique_ptr<Mapping>> all_;
};

// Copies of pages of one version, kept until the transaction ends.
class PageCopies {
public:
    PageCopies(int fd, const Meta& meta) : fd_(fd), meta_(meta) {}
    // nullptr: the file ends before. Throws SnapshotGone.
    const std::byte* pages(std::uint64_t first, std::uint64_t count);

private:
    struct Run {
        std::unique_ptr<std::byte[]> bytes;
        std::uint64_t count;
    };
    const int fd_;
    const Meta meta_;
    std::map<std::uint64_t, Run> runs_;
    std::vector<std::unique_ptr<std::byte[]>> kept_; // replaced by longer ones
};

class Tree final : public ReadTransaction {
public:
    // map or copies. `meta` and `where` ("pool /p, target 3") live longer.
    Tree(const Meta& meta, const std::byte* map, PageCopies* copies, const std::string& where)
        : meta_(meta), map_(map), copies_(copies), where_(where)
    {
    }
    std::uint64_t version() const override { return meta_.transaction; }
    bool get(Bytes key, Bytes& value) override;
    bool seek(Bytes key, Entry& entry) override;
    bool seek_last(Bytes key, Entry& entry) override;
    bool next(Entry& entry) override;
    bool previous(Entry& entry) override;
    Bytes position() const { return placed_ ? position_ : Bytes{}; } // the key last given

    // Before LMDB changes something at this key: it trusts the pages that it meets, and what it makes of damaged ones
    // looks right afterwards. What a change only moves within its page was verified as for a lookup, and LMDB finds the
    // same place; pages that it may split or merge are verified whole. DER_CSUM.
    void require_sound_for_lookup(Bytes key) const;
    void require_sound_for_put(Bytes key, std::size_t size) const; // size: of the value
    void require_sound_for_erase(Bytes key) const;
    // As well for its list of free pages, from which it takes what it writes.
    void require_sound_free_pages() const;

private:
    static constexpr unsigned deepest = 32;
    struct Page {
        const std::byte* bytes;
        std::uint64_t number;
        unsigned nodes;
        unsigned upper;
    };
    struct Node {
        const std::byte* bytes;
        Bytes key;
        std::size_t room; // from `bytes` to the end of the page
    };
    // From the root to a leaf; index: of the node that leads on, or of the entry.
    struct Level {
        Page page;
        unsigned index;
    };
    using Path = std::array<Level, deepest>;

    [[noreturn]] void damaged(std::uint64_t page, const char* what) const;
    bool empty() const { return meta_.content.depth == 0; }
    unsigned bottom() const { return static_cast<unsigned>(meta_.content.depth) - 1; }
    Page load(std::uint64_t number, unsigned level) const;
    Node node(const Page& page, unsigned index) const;
    Bytes value(const Page& page, unsigned index) const;
    std::uint64_t child(const Page& page, unsigned index) const;

    bool descend(Path& path, Bytes key) const; // to the first entry that is not less; true: it is the key
    void descend_along(Path& path, unsigned from, bool last) const;
    bool step(Path& path, bool forward) const; // to the leaf beside; false: there is none
    void verify(const Path& path) const;       // all its pages
    void verify_page(const Path& path, unsigned level) const;
    void require_filled(const Page& page, bool leaf) const; // by its entries, without gap or overlap
    void require_page_numbers(const Page& page) const;      // in a list of free pages
    void verify_neighbour(const Path& path, bool forward) const;
    void verify_around(const Level& at, unsigned first) const;
    void verify_place(const Path& path, Bytes key) const; // at which `key` is missing
    bool cross(Path& path, bool forward) const;           // as step, and both ways are verified
    bool go_on(Entry& entry, bool forward);
    bool give(Entry& entry);
    bool lost();
    bool find_position();

    const Meta& meta_;
    const std::byte* const map_;
    PageCopies* const copies_;
    const std::string& where_;
    Path path_; // of the position
    bool placed_ = false;
    bool astray_ = false; // path_ does not lead to position_
    Bytes position_;      // the key last given
};

} // namespace stepstore::store::lmdb

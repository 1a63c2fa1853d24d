// Reads an index without LMDB: a walk over the pages of its file that believes nothing it reads. LMDB itself
// trusts its pages, so that one damaged byte can end the process; here every offset is checked before it is
// followed.
//
// What is promised, where one byte of the file is damaged (tree_sound.cc says why it is so):
// - No content of the file can lead outside of it, or into a walk without end.
// - A page that is not what its parent says (number, kind, depth) is DER_CSUM.
// - What was not found is not there, or what hides it is a neighbour of its place: the store compares that
//   one's checksum. Else DER_CSUM.
// - A walk goes in one direction, and misses nothing: all pages that it leaves and enters are verified. What
//   it gives lies in its place: before what comes next.
// Not seen: a page number that was changed into that of an older copy of the same page. Nor are damaged keys
// seen that still lie between their neighbours; the checksums of the records tell these.
//
// Two sources of pages:
// - The map (IndexMap), for a process with a slot in LMDB's table of readers: writers leave its pages alone.
// - Copies (PageCopies), for a process that may not write the lock file, so that writers do not know of it.
//   LMDB overwrites a page of version N at the earliest in transaction N + 3. That begins after N + 2 was
//   committed. So a copy is right if N + 2 is not committed when the copy is complete, or if a writer keeps N
//   (kept_version.h). Else SnapshotGone ends the transaction.
//
// Threads: one at a time.
#pragma once

#include "base/not_copied.h"
#include "store/backend.h"
#include "store/lmdb/index/page_layout.h"
#include "store/lmdb/index/pages.h"
#include "store/lmdb/sharing/kept_version.h"

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
class IndexMap : NotCopied {
public:
    explicit IndexMap(int fd) : fd_(fd) {}
    ~IndexMap();
    // The file from its beginning, at least `length` bytes, which must be there. nullptr and errno on
    // failure.
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

// Memory for the whole index, for one try after the other: the system takes long to hand it out.
class IndexMemory : NotCopied {
public:
    ~IndexMemory();
    // nullptr: there is not so much, or it would be too large a part of what the machine has.
    std::byte* of(std::uint64_t length);

private:
    std::byte* address_ = nullptr;
    std::uint64_t length_ = 0;
};

// Copies of pages of one version, kept until the transaction ends.
class PageCopies {
public:
    // kept: nullptr where nobody is asked to keep a version.
    PageCopies(int fd, const Meta& meta, KeptView* kept) : fd_(fd), meta_(meta), view_(kept) {}
    // nullptr: the file ends before. Throws SnapshotGone.
    const std::byte* pages(std::uint64_t first, std::uint64_t count);
    // No page of the version was used again so far. Throws SnapshotGone.
    void require_there();
    // Copies all pages now, at the speed of memory, if `memory` suffices. So a walk that looks at each record
    // needs no version that stays as long as that takes. Throws SnapshotGone.
    void take_all(IndexMemory& memory);
    std::uint64_t taken() const { return taken_; } // pages, one by one

private:
    struct Run {
        std::unique_ptr<std::byte[]> bytes;
        std::uint64_t count;
    };
    const int fd_;
    const Meta meta_;
    KeptView* const view_;
    std::uint64_t taken_ = 0;
    const std::byte* all_ = nullptr;
    std::uint64_t all_length_ = 0; // bytes
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
    const Capabilities& capabilities() const override { return path_form.capabilities; }
    ExtentRef value_extent() const override { return {}; }
    NetworkTransaction* network() override { return nullptr; }
    bool get(Bytes key, Bytes& value) override;
    bool seek(Bytes key, Entry& entry) override;
    bool seek_last(Bytes key, Entry& entry) override;
    bool next(Entry& entry) override { return go_on(entry, true); }
    bool previous(Entry& entry) override { return go_on(entry, false); }
    Bytes position() const { return placed_ ? position_ : Bytes{}; } // the key last given

    // Before LMDB looks at this key or changes something there: it trusts the pages that it meets. DER_CSUM.
    void require_sound_for_lookup(Bytes key);
    void require_sound_for_put(Bytes key, std::size_t size); // size: of the value
    void require_sound_for_erase(Bytes key);
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
    // Of a key: at it, or at the first entry after it. Kept, because the next question is often about the
    // same key.
    struct Lookup {
        Path path;
        std::array<std::byte, max_key + 12> key;
        std::size_t key_size = 0; // 0: there is none
        bool found = false;
        bool verified = false; // that nothing is missing here
    };
    // Of a leaf that LMDB changes in this transaction, or has looked at to do so.
    struct Change {
        std::uint64_t leaf = 0;
        bool again = false;      // it has done so before
        bool sound = false;      // it was verified whole
        bool neighbours = false; // and so were the pages on both sides
    };
    enum class Side : std::uint8_t { none, before, behind };

    [[noreturn]] void damaged(std::uint64_t page, const char* what) const;
    bool empty() const { return meta_.content.depth == 0; }
    unsigned bottom() const { return static_cast<unsigned>(meta_.content.depth) - 1; }
    Page load(std::uint64_t number, bool leaf) const;
    Node node(const Page& page, unsigned index) const;
    Bytes value(const Page& page, unsigned index) const;
    std::uint64_t child(const Page& page, unsigned index) const
    {
        return page_below(node(page, index).bytes);
    }

    // The levels in use.
    void copy(const Path& from, Path& to) const
    {
        std::copy_n(from.begin(), meta_.content.depth, to.begin());
    }
    bool descend(Path& path, Bytes key) const; // to the first entry that is not less; true: it is the key
    void descend_along(Path& path, unsigned from, bool last) const;
    // To the leaf beside. The first level whose page is another one then; 0: there is none.
    unsigned step(Path& path, bool forward) const;
    Lookup& locate(Bytes key);

    // What is verified, and why: tree_sound.cc.
    void verify(const Path& path, unsigned first = 0) const; // its pages from that level on
    void verify_page(const Path& path, unsigned level) const;
    void verify_place(Lookup& place) const; // at which its key is missing
    void verify_edge(const Lookup& place) const;
    void verify_borders(const Path& path, unsigned first, bool behind) const;
    void verify_before_split(const Path& path) const;
    void verify_with_neighbours(const Path& path, Change& change) const;
    Change& change_of(const Page& leaf);
    bool lower_border(const Path& path, unsigned level, Bytes& key) const;
    bool upper_border(const Path& path, unsigned level, Bytes& key) const;
    void require_filled(const Page& page, bool leaf) const; // by its nodes, without gap or overlap
    void require_upper(const Page& page) const;
    void require_end(const Page& page, unsigned level) const;
    void require_ascending(const Page& page, unsigned index) const; // this node and the next one
    void require_page_numbers(const Page& page) const;              // in a list of free pages

    bool cross(bool forward); // the position's path, as step, and both ways are verified
    bool move(bool forward);  // the position
    bool give(Entry& entry, bool forward, bool ascends = false); // ascends: known of it and the one after
    bool go_on(Entry& entry, bool forward);
    bool lost();
    bool find_position();

    const Meta& meta_;
    const std::byte* const map_;
    PageCopies* const copies_;
    const std::string& where_;
    Lookup lookup_;
    std::array<Change, 8> changes_; // the last ones
    unsigned changed_ = 0;
    Path path_; // of the position
    bool placed_ = false;
    bool astray_ = false; // path_ does not lead to position_
    bool whole_ = false;  // all pages of path_ were verified whole
    // Of the position: the way from there to the next leaf on this side was verified.
    Side verified_side_ = Side::none;
    Bytes position_; // the key last given
};

inline Tree::Node Tree::node(const Page& page, unsigned index) const
{
    const std::size_t offset =
        number_at<std::uint16_t>(page.bytes, page_header_size + std::size_t{2} * index);
    if (offset < page.upper || offset + node_header_size > meta_.page_size)
        damaged(page.number, "the place of an entry");
    const std::byte* bytes = page.bytes + offset;
    const std::size_t key_size = number_at<std::uint16_t>(bytes, 6);
    const std::size_t room = meta_.page_size - offset;
    if (node_header_size + key_size > room) damaged(page.number, "the size of a key");
    return {bytes, {bytes + node_header_size, key_size}, room};
}

} // namespace stepstore::store::lmdb

#include "store/lmdb/index/pages.h"

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/files.h"
#include "stepstore/error.h"
#include "store/lmdb/index/page_layout.h"

#include <daos_errno.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace stepstore::store::lmdb {

namespace {

constexpr std::uint64_t none = UINT64_MAX;
constexpr std::size_t header_size = page_header_size;
constexpr std::size_t node_size = node_header_size;
constexpr std::uint16_t flags_of_list = 0x08; // its keys are numbers
constexpr std::uint32_t magic = 0xBEEFC0DE;
constexpr std::uint64_t max_map = std::uint64_t{1} << 47;

template <class T>
T at(Bytes bytes, std::size_t offset)
{
    return number_at<T>(bytes.data(), offset);
}

Meta::Database database_at(Bytes page, std::size_t offset)
{
    Meta::Database database;
    database.flags = at<std::uint16_t>(page, offset + 4);
    database.depth = at<std::uint16_t>(page, offset + 6);
    database.branches = at<std::uint64_t>(page, offset + 8);
    database.leaves = at<std::uint64_t>(page, offset + 16);
    database.overflows = at<std::uint64_t>(page, offset + 24);
    database.entries = at<std::uint64_t>(page, offset + 32);
    database.root = at<std::uint64_t>(page, offset + 40);
    return database;
}

bool plausible(const Meta& meta, const Meta::Database& database)
{
    if (database.root == none) return database.depth == 0 && database.entries == 0;
    return database.root >= 2 && database.root <= meta.last_page && database.depth >= 1 &&
           database.depth <= 32;
}

} // namespace

// The layout: page header, then magic, version, address, map size, two
// databases of 48 bytes, last page, transaction.
const char* read_meta(const std::byte* bytes, Meta& meta)
{
    const Bytes page(bytes, meta_length);
    if ((at<std::uint16_t>(page, 10) & meta_flag) == 0 || at<std::uint32_t>(page, 16) != magic)
        return "a meta page is damaged, or the file is not an LMDB file";
    if (at<std::uint32_t>(page, 20) != 1) return "the version of its LMDB data format is not 1";
    meta.map_size = at<std::uint64_t>(page, 32);
    meta.page_size = at<std::uint32_t>(page, 40);
    meta.free_pages = database_at(page, 40);
    meta.content = database_at(page, 88);
    meta.last_page = at<std::uint64_t>(page, 136);
    meta.transaction = at<std::uint64_t>(page, 144);
    const bool good_size =
        meta.page_size >= 512 && meta.page_size <= 65536 && std::has_single_bit(meta.page_size);
    const bool good = good_size && meta.map_size <= max_map && meta.last_page >= 1 &&
                      meta.last_page < max_map / meta.page_size && meta.free_pages.flags == flags_of_list &&
                      meta.content.flags == 0 && plausible(meta, meta.free_pages) &&
                      plausible(meta, meta.content);
    return good ? nullptr : "a meta page is damaged";
}

const Meta* Metas::newest() const
{
    if (!pages[0] || !pages[1]) return pages[0] ? &*pages[0] : pages[1] ? &*pages[1] : nullptr;
    return pages[0]->transaction >= pages[1]->transaction ? &*pages[0] : &*pages[1];
}

namespace {

constexpr int looks = 1000; // at meta pages that are just written

// The bytes of meta pages that stayed damaged with every look. A process that reads a damaged index looks at
// its meta pages thousands of times: the same bytes are believed at the second sight.
std::atomic<std::uint64_t> stayed_damaged{0};

} // namespace

// A page that is read while it is written may look damaged once.
Metas settled_metas(int fd)
{
    Metas metas = read_metas(fd);
    for (int look = 1; look < looks && !metas.problem.empty() && metas.checksum != stayed_damaged; ++look)
        metas = read_metas(fd);
    if (!metas.problem.empty()) stayed_damaged = metas.checksum;
    return metas;
}

// A commit overwrites the older meta page, so the newer one stands still for at least a transaction. What is
// read twice alike is whole. A damaged page stays damaged; one that is just written does not.
Meta newest_meta(int fd, const std::string& where)
{
    Metas last;
    for (int round = 0; round < looks; ++round) {
        const Metas metas = settled_metas(fd);
        const bool whole = metas.problem.empty();
        if (whole && last.problem.empty() && last.newest() != nullptr && *metas.newest() == *last.newest())
            return *metas.newest();
        last = metas;
        if (!whole) break;
    }
    throw Error(-DER_CSUM, where + ": the first pages of the index are damaged (" +
                               (last.problem.empty() ? "they change with every look" : last.problem) +
                               "): \"stepstore pool check\" says what can be saved");
}

std::uint64_t newest_transaction(int fd, std::uint64_t page_size)
{
    std::uint64_t newest = 0;
    for (const std::uint64_t page : {std::uint64_t{0}, std::uint64_t{1}}) {
        std::byte number[8];
        if (read_all(fd, number, page * page_size + 144) == 8)
            newest = std::max(newest, at<std::uint64_t>(number, 0));
    }
    return newest;
}

Metas read_metas(int fd)
{
    Metas metas;
    metas.checksum = metas.file_size = size_of(fd, "index file");
    std::byte page[meta_length];
    std::uint64_t page_size = 4096;
    for (std::size_t number = 0; number < 2; ++number) {
        const std::int64_t got = read_all(fd, page, number * page_size);
        if (got > 0) metas.checksum = checksum({page, static_cast<std::size_t>(got)}, metas.checksum);
        if (got < static_cast<std::int64_t>(sizeof page)) {
            metas.problem = "the file was cut off: it has only " + std::to_string(metas.file_size) + " bytes";
            continue;
        }
        Meta meta;
        if (const char* problem = read_meta(page, meta)) {
            metas.problem = problem;
            continue;
        }
        metas.pages[number] = meta;
        page_size = meta.page_size;
    }
    if (metas.problem.empty() && metas.pages[0]->page_size != metas.pages[1]->page_size)
        metas.problem = "a meta page is damaged";
    if (metas.problem.empty() && metas.file_size < 2 * page_size)
        metas.problem = "the file was cut off: it has only " + std::to_string(metas.file_size) + " bytes";
    return metas;
}

// ---- the walk

namespace {

class Walk {
public:
    Walk(int fd, const Meta& meta, std::size_t limit)
        : fd_(fd), meta_(meta), limit_(limit), used_(static_cast<std::size_t>(meta.last_page) + 1)
    {
        used_[0] = used_[1] = true;
    }
    std::vector<std::string> run()
    {
        walk("list of free pages", meta_.free_pages, true);
        const std::vector<std::uint64_t> free_pages = std::move(free_);
        walk("index", meta_.content, false);
        for (const std::uint64_t page : free_pages)
            if (page < 2 || page > meta_.last_page)
                found(page, "is in the list of free pages but does not exist");
            else if (used_[page])
                found(page, "is in the list of free pages but is in use, or is there twice");
            else
                used_[page] = true;
        return std::move(found_);
    }

private:
    using Key = std::vector<std::byte>;
    struct Tree {
        const char* name;
        bool list_of_pages; // the keys are numbers, the values lists of page numbers
        Meta::Database expected;
        Meta::Database counted;
        Key last; // the greatest key so far
        bool any = false;
    };

    void found(std::uint64_t page, const std::string& what)
    {
        if (found_.size() < limit_) found_.push_back("page " + std::to_string(page) + ": " + what);
    }

    bool take(std::uint64_t page, std::uint64_t count)
    {
        if (page < 2 || count == 0 || page > meta_.last_page || count > meta_.last_page - page + 1) {
            found(page, "is referred to but does not exist");
            return false;
        }
        for (std::uint64_t each = page; each < page + count; ++each) {
            if (used_[each]) {
                found(each, "is used twice");
                return false;
            }
            used_[each] = true;
        }
        return true;
    }

    bool read(std::uint64_t page, MutableBytes into)
    {
        if (read_all(fd_, into, page * meta_.page_size) == static_cast<std::int64_t>(into.size()))
            return true;
        found(page, "cannot be read: the file was cut off");
        return false;
    }

    void walk(const char* name, const Meta::Database& expected, bool list_of_pages)
    {
        Tree tree{name, list_of_pages, expected, {}, {}, false};
        if (expected.root != none) visit(tree, expected.root, 1);
        const bool same =
            tree.counted.branches == expected.branches && tree.counted.leaves == expected.leaves &&
            tree.counted.overflows == expected.overflows && tree.counted.entries == expected.entries;
        if (!same && found_.empty()) {
            found_.push_back(std::string(name) + ": " + std::to_string(tree.counted.entries) +
                             " entries found where " + std::to_string(expected.entries) + " should be");
        }
    }

    // The offset of node `index`, when it and its key lie within the page.
    std::optional<std::size_t> node_of(Bytes page, std::uint64_t number, std::size_t index, std::size_t upper)
    {
        const std::size_t node = at<std::uint16_t>(page, header_size + 2 * index);
        if (node >= upper && node + node_size <= page.size() &&
            node + node_size + at<std::uint16_t>(page, node + 6) <= page.size())
            return node;
        found(number, "entry " + std::to_string(index) + " lies outside of the page");
        return std::nullopt;
    }

    void visit(Tree& tree, std::uint64_t number, std::uint64_t depth)
    {
        if (found_.size() >= limit_ || !take(number, 1)) return;
        std::vector<std::byte> page(meta_.page_size);
        if (!read(number, page)) return;
        const auto flags = at<std::uint16_t>(page, 10);
        const std::size_t lower = at<std::uint16_t>(page, 12);
        const std::size_t upper = at<std::uint16_t>(page, 14);
        const bool leaf = flags == leaf_flag;
        if (at<std::uint64_t>(page, 0) != number || (!leaf && flags != branch_flag))
            return found(number, std::string("is not the page of the ") + tree.name + " that should be here");
        if (leaf != (depth == tree.expected.depth)) return found(number, "lies at the wrong depth");
        if (lower < header_size || lower % 2 != 0 || upper < lower || upper > page.size())
            return found(number, "its header is damaged");
        const std::size_t nodes = (lower - header_size) / 2;
        if (nodes == 0) return found(number, "is empty");
        ++(leaf ? tree.counted.leaves : tree.counted.branches);
        for (std::size_t index = 0; index < nodes; ++index) {
            const auto node = node_of(page, number, index, upper);
            if (!node) return;
            if (leaf)
                entry(tree, page, number, *node);
            else
                child(tree, page, number, *node, index, depth);
        }
    }

    void child(Tree& tree, Bytes page, std::uint64_t number, std::size_t node, std::size_t index,
               std::uint64_t depth)
    {
        const std::uint64_t to = at<std::uint16_t>(page, node) |
                                 std::uint64_t{at<std::uint16_t>(page, node + 2)} << 16 |
                                 std::uint64_t{at<std::uint16_t>(page, node + 4)} << 32;
        const Bytes key = page.subspan(node + node_size, at<std::uint16_t>(page, node + 6));
        if (index > 0) { // the first child's key is not used
            if (tree.any && !less(tree, tree.last, key)) found(number, "its keys are not in order");
            // Every key below is at least this one: what comes next is compared with
            // it, less one.
            floor_.assign(key.begin(), key.end());
            has_floor_ = true;
        }
        visit(tree, to, depth + 1);
    }

    void entry(Tree& tree, Bytes page, std::uint64_t number, std::size_t node)
    {
        const std::size_t key_size = at<std::uint16_t>(page, node + 6);
        const Bytes key = page.subspan(node + node_size, key_size);
        if (key.empty() || (tree.list_of_pages && key.size() != 8))
            return found(number, "has a key of a wrong size");
        if (tree.any && !less(tree, tree.last, key)) found(number, "its keys are not in order");
        if (has_floor_ && less(tree, key, floor_)) found(number, "has a key that belongs before this page");
        has_floor_ = false;
        tree.last.assign(key.begin(), key.end());
        tree.any = true;
        ++tree.counted.entries;

        const std::uint64_t size =
            at<std::uint16_t>(page, node) | std::uint64_t{at<std::uint16_t>(page, node + 2)} << 16;
        const auto flags = at<std::uint16_t>(page, node + 4);
        const std::size_t value = node + node_size + key_size;
        if ((flags & ~big_flag) != 0) return found(number, "has an entry of an unknown kind");
        if ((flags & big_flag) != 0) {
            if (value + 8 > page.size()) return found(number, "has an entry that leaves the page");
            return big_value(tree, at<std::uint64_t>(page, value), size);
        }
        if (value + size > page.size()) return found(number, "has a value that leaves the page");
        if (tree.list_of_pages) page_list(number, page.subspan(value, size));
    }

    void big_value(Tree& tree, std::uint64_t number, std::uint64_t size)
    {
        // The run may be longer than the value needs: a value that shrank within one transaction keeps its
        // pages.
        const std::uint64_t needed = (header_size + size + meta_.page_size - 1) / meta_.page_size;
        if (number < 2 || number > meta_.last_page) return found(number, "is referred to but does not exist");
        std::byte header[header_size];
        if (!read(number, header)) return;
        const std::uint64_t pages = at<std::uint32_t>(header, 12);
        if (at<std::uint64_t>(header, 0) != number || at<std::uint16_t>(header, 10) != overflow_flag ||
            pages < needed)
            return found(number, "does not begin the value that should be here");
        if (!take(number, pages)) return;
        std::byte last;
        if (!read_byte(number * meta_.page_size + header_size + size - 1, last))
            return found(number, "its value is cut off with the file");
        tree.counted.overflows += pages;
        if (tree.list_of_pages) {
            std::vector<std::byte> list(size);
            if (read_all(fd_, list, number * meta_.page_size + header_size) ==
                static_cast<std::int64_t>(size))
                page_list(number, list);
        }
    }

    bool read_byte(std::uint64_t offset, std::byte& byte) { return read_all(fd_, {&byte, 1}, offset) == 1; }

    void page_list(std::uint64_t number, Bytes list)
    {
        const std::uint64_t count = list.size() < 8 ? 0 : at<std::uint64_t>(list, 0);
        if (list.size() < 8 || count > (list.size() - 8) / 8)
            return found(number, "its list of free pages is damaged");
        for (std::uint64_t index = 1; index <= count; ++index)
            free_.push_back(at<std::uint64_t>(list, index * 8));
    }

    static bool less(const Tree& tree, Bytes a, Bytes b)
    {
        if (tree.list_of_pages && a.size() == 8 && b.size() == 8)
            return at<std::uint64_t>(a, 0) < at<std::uint64_t>(b, 0);
        return compare(a, b) < 0;
    }

    int fd_;
    const Meta& meta_;
    std::size_t limit_;
    std::vector<bool> used_;
    std::vector<std::uint64_t> free_;
    std::vector<std::string> found_;
    Key floor_; // the separator above the page that is visited next
    bool has_floor_ = false;
};

} // namespace

std::vector<std::string> check_pages(int fd, const Meta& meta, std::size_t limit)
{
    // A damaged number of pages must not cost memory: no more pages are looked at
    // than could be in the file twice over.
    const std::uint64_t in_file = size_of(fd, "index file") / meta.page_size;
    if (meta.last_page / 64 > in_file + 1'000'000)
        return {"the file has " + std::to_string(in_file) + " pages where " +
                std::to_string(meta.last_page + 1) +
                " should be: it was cut off, or its first pages are damaged"};
    return Walk(fd, meta, limit).run();
}

} // namespace stepstore::store::lmdb

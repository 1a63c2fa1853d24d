// The pages of an index: the walk of a check, and the reader's own search.
#include "fuzz.h"

#include "store/lmdb/index/tree.h"
#include "store/lmdb/sharing/errors.h"

#include <sys/mman.h>
#include <unistd.h>

namespace stepstore::store::lmdb {
namespace {

constexpr std::size_t page = 512;

// A file of pages, of which those that look like one get the number that they should have.
std::vector<std::byte> pages_of(Bytes rest)
{
    std::vector<std::byte> all(2 * page);
    all.insert(all.end(), rest.begin(), rest.end());
    all.resize((all.size() + page - 1) / page * page);
    for (std::size_t number = 2; number * page < all.size(); ++number)
        store_little(all.data() + number * page, std::uint64_t{number});
    return all;
}

Meta meta_of(fuzz::Input& input, std::size_t pages)
{
    Meta meta;
    meta.page_size = page;
    meta.last_page = pages - 1;
    meta.transaction = 3;
    meta.content.root = meta.last_page < 2 ? UINT64_MAX : 2 + input.below(3) % (meta.last_page - 1);
    meta.content.depth = meta.content.root == UINT64_MAX ? 0 : 1 + static_cast<unsigned>(input.below(3));
    meta.free_pages.root = UINT64_MAX;
    meta.free_pages.flags = 8;
    if (input.below(2) == 1 && meta.last_page >= 2) {
        meta.free_pages.root = 2;
        meta.free_pages.depth = 1;
    }
    return meta;
}

} // namespace

FUZZ(lmdb, meta)
{
    const int fd = memfd_create("index", MFD_CLOEXEC);
    std::vector<std::byte> all(8192);
    const Bytes rest = input.rest();
    std::copy_n(rest.begin(), std::min<std::size_t>(rest.size(), 4096), all.begin());
    std::copy_n(rest.begin(), std::min<std::size_t>(rest.size(), 4096), all.begin() + 4096);
    if (::write(fd, all.data(), all.size()) < 0) std::abort();
    const Metas metas = read_metas(fd);
    ::close(fd);
    if (const Meta* newest = metas.newest())
        fuzz::require(newest->last_page < (std::uint64_t{1} << 47) / newest->page_size,
                      "the number of pages");
}

FUZZ(lmdb, check)
{
    const Bytes head = input.bytes(8);
    fuzz::Input choices(head);
    const std::vector<std::byte> all = pages_of(input.rest());
    const Meta meta = meta_of(choices, all.size() / page);
    const int fd = memfd_create("index", MFD_CLOEXEC);
    if (::write(fd, all.data(), all.size()) < 0) std::abort();
    check_pages(fd, meta, 100);
    ::close(fd);
}

FUZZ(lmdb, tree)
{
    const Bytes head = input.bytes(8);
    fuzz::Input choices(head);
    const fuzz::Copy key(input.bytes(choices.below(32)));
    const fuzz::Copy copy(pages_of(input.rest()));
    const Bytes all = copy;
    const Meta meta = meta_of(choices, all.size() / page);
    const std::string where = "index";
    const auto attempt = [&](auto use) {
        try {
            Tree tree(meta, all.data(), nullptr, where);
            use(tree);
        } catch (const Error&) {
        }
    };
    Bytes value;
    Entry entry;
    const auto look = [](const Entry& one) {
        fuzz::require(one.key.size() <= longest_key, "the size of a key");
        fuzz::touch(one.key);
        fuzz::touch(one.value);
    };
    attempt([&](Tree& tree) {
        if (tree.get(key, value)) fuzz::touch(value);
    });
    attempt([&](Tree& tree) {
        // A walk ends: keys ascend.
        for (bool more = tree.seek(key, entry); more; more = tree.next(entry))
            look(entry);
    });
    attempt([&](Tree& tree) {
        for (bool more = tree.seek_last(key, entry); more; more = tree.previous(entry))
            look(entry);
    });
    attempt([&](Tree& tree) { tree.require_sound_for_lookup(key); });
    attempt([&](Tree& tree) { tree.require_sound_for_put(key, 100); });
    attempt([&](Tree& tree) { tree.require_sound_for_erase(key); });
    attempt([&](Tree& tree) { tree.require_sound_free_pages(); });
}

FUZZ(lmdb, kept_version)
{
    std::array<std::byte, KeptVersion::size> bytes{};
    const Bytes rest = input.rest();
    std::copy_n(rest.begin(), std::min(rest.size(), bytes.size()), bytes.begin());
    KeptVersion::decode(bytes);
}

} // namespace stepstore::store::lmdb

// LMDB's file format (data.mdb of LMDB 0.9, 64 bits), read without LMDB. It is read before an environment is
// opened, and to find damage that would crash LMDB itself. No byte of it is trusted.
// Threads: any. Errors: -DER_CSUM where it is said, -DER_IO; else what is wrong is given as a text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stepstore::store::lmdb {

// One of the two meta pages, a root of the index's history. A commit overwrites
// the older one.
struct Meta {
    struct Database {
        std::uint64_t flags = 0;
        std::uint64_t depth = 0, branches = 0, leaves = 0, overflows = 0, entries = 0;
        std::uint64_t root = 0; // page number; UINT64_MAX: empty
        friend bool operator==(const Database&, const Database&) = default;
    };
    std::uint64_t page_size = 0;
    std::uint64_t map_size = 0;
    std::uint64_t last_page = 0;
    std::uint64_t transaction = 0;
    Database free_pages;
    Database content;
    friend bool operator==(const Meta&, const Meta&) = default;
};

inline constexpr std::size_t meta_length = 152; // bytes of a meta page that say something

// Reads a meta page. nullptr, or what is wrong with it.
const char* read_meta(const std::byte* page, Meta& meta);

// The meta pages of a file, and what is wrong with them (empty: nothing).
struct Metas {
    std::array<std::optional<Meta>, 2> pages;
    std::uint64_t file_size = 0;
    std::uint64_t checksum = 0; // of the bytes and the size
    std::string problem;
    const Meta* newest() const;
};
Metas read_metas(int fd);
// The same of a file that others may write to at this moment: what is wrong stays wrong with every look.
Metas settled_metas(int fd);
// The newest meta page of a file that others may write to at this moment. DER_CSUM: it is damaged.
Meta newest_meta(int fd, const std::string& where);
// The version that was committed last. 0: the file ends before.
std::uint64_t newest_transaction(int fd, std::uint64_t page_size);

// Walks every page that the transaction `meta` can reach. It checks page headers, order of keys, places of
// values, depths and counts. It also checks that no page is used twice, or both used and free. One text per
// damage, at most `limit`.
std::vector<std::string> check_pages(int fd, const Meta& meta, std::size_t limit = 100);

} // namespace stepstore::store::lmdb

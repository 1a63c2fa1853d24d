// The keys of a key-value object in one file: what Pool::compact() makes of its many small files (compact.h).
//
// The file is named `packed` and lies in the directory of the object's keys, beside the buckets (keys.h). It
// is written whole before the directory gets its name, and never changes. It holds:
//   the head: where the index of each bucket lies;
//   the values, each as the bytes that the file of a value has, so each has its own checksum and key;
//   the indexes: the names of a bucket's keys, in rising order, and where their values lie.
// docs/format-files.md has the bytes. A look at one key reads the first 64 KiB, and of a larger file the
// index of one bucket and the value.
//
// Threads: a PackedFile is for one at a time; the rest is pure. Errors: -DER_DF_INVAL, -DER_CSUM: damaged;
// -DER_DF_INCOMPT.
#pragma once

#include "store/files/keys.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepstore::store::files {

inline constexpr const char* packed_name = "packed";

struct PackedPlace {
    std::uint64_t offset = 0, length = 0; // in the file, bytes
};
using PackedHead = std::array<PackedPlace, buckets>; // by bucket; of length 0: it has no keys
std::vector<std::byte> encode_packed_head(const PackedHead& head);
PackedHead decode_packed_head(Bytes bytes, const std::string& what);
extern const std::size_t packed_head_size;

struct PackedKey {
    std::string name;  // as name_of_key() gives it
    PackedPlace value; // decode_value()
};
std::vector<std::byte> encode_packed_index(const std::vector<PackedKey>& keys);
// bucket: whose names they must be.
std::vector<PackedKey> decode_packed_index(Bytes bytes, unsigned bucket, const std::string& what);

class PackedFile {
public:
    // nullopt: there is none. what: for messages.
    static std::optional<PackedFile> open(const RootedPath& directory, const std::string& what);

    std::vector<PackedKey> keys(unsigned bucket) const;
    std::optional<PackedKey> find(const std::string& name) const;
    // nullopt: damaged. record: as it lies in the file.
    std::optional<StoredValue> read(const PackedKey& key) const;
    std::optional<std::vector<std::byte>> record(const PackedKey& key) const;

private:
    PackedFile(Descriptor fd, std::string what);
    std::vector<std::byte> bytes_at(const PackedPlace& place, bool again = false) const;
    // Those that are not right are read again (base/second_look.h).
    std::vector<std::byte> right_bytes_at(const PackedPlace& place, FunctionRef<bool(Bytes)> is_right) const;
    void read_begin();

    Descriptor fd_;
    std::string what_;
    std::uint64_t size_ = 0;
    std::vector<std::byte> begin_;
    PackedHead head_;
};

class PackedWriter {
public:
    explicit PackedWriter(const RootedPath& directory); // which is there, and where nobody looks yet
    // In any order. record: the file of a value.
    void add(const std::string& name, Bytes record);
    void finish(const Place& place); // all is written, and others would see it
    std::uint64_t keys() const { return keys_; }

private:
    void write(Bytes bytes);

    RootedPath file_;
    Descriptor fd_;
    std::uint64_t end_ = 0, keys_ = 0;
    std::array<std::vector<PackedKey>, buckets> index_;
};

unsigned bucket_number(std::string_view name);

} // namespace stepstore::store::files

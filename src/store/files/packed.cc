#include "store/files/packed.h"

#include "base/checksum.h"
#include "base/record.h"
#include "base/second_look.h"
#include "base/system_error.h"
#include "store/failure.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>

namespace stepstore::store::files {

namespace {

constexpr std::uint32_t packed_magic = 0x50465353;       // "SSFP"
constexpr std::uint32_t packed_index_magic = 0x49465353; // "SSFI"
constexpr std::size_t longest_packed_name = 160;
constexpr std::size_t read_at_once = 64 << 10;

} // namespace

const std::size_t packed_head_size =
    frame_size_of<std::uint32_t> + std::size_t{buckets} * 2 * sizeof(std::uint64_t);

std::vector<std::byte> encode_packed_head(const PackedHead& head)
{
    std::vector<std::byte> record(frame_size_of<std::uint32_t>);
    WireWriter to(record);
    for (const PackedPlace& place : head) {
        to.fixed(place.offset);
        to.fixed(place.length);
    }
    seal_frame(record, packed_magic, format_version);
    return record;
}

PackedHead decode_packed_head(Bytes bytes, const std::string& what)
{
    WireReader from(unseal_frame(bytes, packed_magic, format_version, what).body, what);
    PackedHead head;
    for (PackedPlace& place : head) {
        place.offset = from.fixed<std::uint64_t>();
        place.length = from.fixed<std::uint64_t>();
        std::uint64_t end = 0;
        if (__builtin_add_overflow(place.offset, place.length, &end)) from.fail("has an index without end");
    }
    if (!from.at_end()) from.fail("has a head that is too long");
    return head;
}

std::vector<std::byte> encode_packed_index(const std::vector<PackedKey>& keys)
{
    std::vector<std::byte> record(frame_size_of<std::uint32_t>);
    WireWriter to(record);
    to.varint(keys.size());
    for (const PackedKey& key : keys) {
        to.text(key.name);
        to.varint(key.value.offset);
        to.varint(key.value.length);
    }
    seal_frame(record, packed_index_magic, format_version);
    return record;
}

std::vector<PackedKey> decode_packed_index(Bytes bytes, unsigned bucket, const std::string& what)
{
    WireReader from(unseal_frame(bytes, packed_index_magic, format_version, what).body, what);
    constexpr std::size_t least = 3; // bytes of a key
    std::vector<PackedKey> keys(from.counted(least));
    std::string_view before;
    for (PackedKey& key : keys) {
        key.name = from.text();
        if (key.name.empty() || key.name.size() > longest_packed_name || bucket_number(key.name) != bucket ||
            key.name <= before)
            from.fail("has a key in the wrong place");
        before = key.name;
        key.value.offset = from.varint();
        key.value.length = from.varint();
        std::uint64_t end = 0;
        if (__builtin_add_overflow(key.value.offset, key.value.length, &end))
            from.fail("has a value without end");
    }
    if (!from.at_end()) from.fail("has an index that is too long");
    return keys;
}

PackedFile::PackedFile(Descriptor fd, std::string what) : fd_(std::move(fd)), what_(std::move(what))
{
    const auto decode = [&] {
        head_ = decode_packed_head(Bytes(begin_).first(std::min(begin_.size(), packed_head_size)), what_);
    };
    size_ = size_of(fd_.get(), what_);
    read_begin();
    if (right_at_second_look([&] { return is_sound(decode); },
                             [&] {
                                 size_ = fresh_size_of(fd_.get(), what_);
                                 drop_cached(fd_.get(), 0, size_);
                                 read_begin();
                             }))
        return;
    decode(); // throws
}

void PackedFile::read_begin()
{
    begin_.resize(std::min<std::uint64_t>(size_, read_at_once));
    const std::int64_t got = read_all(fd_.get(), begin_, 0);
    if (got < 0) fail_errno(what_, "cannot read the file");
    begin_.resize(static_cast<std::size_t>(got));
}

std::optional<PackedFile> PackedFile::open(const RootedPath& directory, const std::string& what)
{
    const RootedPath file = directory / packed_name;
    Descriptor fd = open_file(file, O_RDONLY);
    if (fd) return PackedFile(std::move(fd), what + ": the file " + file);
    if (errno == ENOENT || errno == ENOTDIR || errno == ESTALE) return std::nullopt;
    fail_errno(file, "cannot open the file" + owner_of(file));
}

std::vector<std::byte> PackedFile::bytes_at(const PackedPlace& place, bool again) const
{
    // What a damaged index says is not to be allocated.
    if (place.offset > size_ || place.length > size_ - place.offset) return {};
    std::vector<std::byte> bytes(place.length);
    if (again) drop_cached(fd_.get(), place.offset, place.length);
    if (!again && place.offset + place.length <= begin_.size()) {
        std::ranges::copy(Bytes(begin_).subspan(place.offset, place.length), bytes.begin());
        return bytes;
    }
    const std::int64_t got = read_all(fd_.get(), bytes, place.offset);
    if (got < 0) fail_errno(what_, "cannot read the file");
    bytes.resize(static_cast<std::size_t>(got));
    return bytes;
}

std::vector<PackedKey> PackedFile::keys(unsigned bucket) const
{
    if (head_.at(bucket).length == 0) return {};
    std::optional<std::vector<PackedKey>> keys;
    const auto bytes = right_bytes_at(head_[bucket], [&](Bytes found) {
        return is_sound([&] { keys = decode_packed_index(found, bucket, what_); });
    });
    return keys ? *std::move(keys) : decode_packed_index(bytes, bucket, what_); // throws
}

std::vector<std::byte> PackedFile::right_bytes_at(const PackedPlace& place,
                                                  FunctionRef<bool(Bytes)> is_right) const
{
    std::vector<std::byte> bytes = bytes_at(place);
    right_at_second_look([&] { return is_right(bytes); }, [&] { bytes = bytes_at(place, true); });
    return bytes;
}

std::optional<PackedKey> PackedFile::find(const std::string& name) const
{
    std::vector<PackedKey> all = keys(bucket_number(name));
    const auto found = std::ranges::lower_bound(all, name, {}, &PackedKey::name);
    if (found == all.end() || found->name != name) return std::nullopt;
    return std::move(*found);
}

std::optional<StoredValue> PackedFile::read(const PackedKey& key) const
{
    std::optional<StoredValue> stored;
    const auto bytes =
        right_bytes_at(key.value, [&](Bytes found) { return holds_value(found, key.name, stored); });
    if (!stored) decode_value(bytes); // it may be of another version, which this tells
    return stored;
}

std::optional<std::vector<std::byte>> PackedFile::record(const PackedKey& key) const
{
    std::optional<StoredValue> stored;
    auto bytes = right_bytes_at(key.value, [&](Bytes found) { return holds_value(found, key.name, stored); });
    if (!stored) return std::nullopt;
    return bytes;
}

PackedWriter::PackedWriter(const RootedPath& directory)
    : file_(directory / packed_name), fd_(open_file(file_, O_WRONLY | O_CREAT | O_EXCL)),
      end_(packed_head_size)
{
    if (!fd_) fail_errno(file_, "cannot make the file" + owner_of(directory));
}

void PackedWriter::write(Bytes bytes)
{
    if (const int error = write_all(fd_.get(), {bytes}, end_); error != 0)
        throw system_error(error, file_, "cannot write the file");
    end_ += bytes.size();
}

void PackedWriter::add(const std::string& name, Bytes record)
{
    index_.at(bucket_number(name)).push_back({name, {end_, record.size()}});
    ++keys_;
    write(record);
}

void PackedWriter::finish(const Place& place)
{
    PackedHead head;
    for (unsigned bucket = 0; bucket < buckets; ++bucket) {
        std::vector<PackedKey>& keys = index_.at(bucket);
        if (keys.empty()) continue;
        std::ranges::sort(keys, {}, &PackedKey::name);
        const auto bytes = encode_packed_index(keys);
        head.at(bucket) = {end_, bytes.size()};
        write(bytes);
    }
    end_ = 0;
    write(encode_packed_head(head));
    place.reach_readers(fd_.get(), file_);
}

} // namespace stepstore::store::files

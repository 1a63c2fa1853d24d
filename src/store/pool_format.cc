// The records a pool begins with, and transactions over several targets.
#include "base/checksum.h"
#include "store/failure.h"
#include "store/pool_core.h"

#include <filesystem>
#include <random>
#include <utility>

namespace stepstore::store {

namespace {

constexpr std::string_view magic = "STEPSTORE";

Bytes bytes_of(const Uuid& uuid)
{
    return std::as_bytes(std::span(uuid));
}

void put_pool_header(WriteTransaction& meta, const PoolHeader& header)
{
    BodyWriter body;
    body.bytes(as_bytes(magic)).number(header.version).bytes(bytes_of(header.uuid));
    body.number(header.created).bytes(as_bytes(header.label));
    put_sealed(meta, meta_key(MetaSpace::header).view(), body.view());
}

void put_target_header(WriteTransaction& target, const PoolHeader& header, std::uint64_t index)
{
    BodyWriter body;
    body.bytes(as_bytes(magic)).number(header.version).bytes(bytes_of(header.uuid)).number(index);
    put_sealed(target, KeyBuffer(Space::header).view(), body.view());
}

// Magic and version come first in every format, so that an older program can tell a newer one from damage.
void require_version(BodyReader& reader, const std::string& where, std::uint32_t& version)
{
    if (as_text(reader.bytes()) != magic) {
        fail(DER_DF_INVAL, where + ": its header does not begin with Stepstore's magic number: this is not a "
                                   "pool, or its header is damaged");
    }
    version = static_cast<std::uint32_t>(reader.number());
    if (version > format_version) {
        fail(DER_DF_INCOMPT, where + " has format version " + std::to_string(version) +
                                 ", and this program reads versions up to " + std::to_string(format_version) +
                                 ": use the newer Stepstore that made it");
    }
    if (version < format_version) {
        fail(DER_DF_INCOMPT, where + " has format version " + std::to_string(version) +
                                 ", and this program reads only version " + std::to_string(format_version) +
                                 ": copy its content with the Stepstore that made it");
    }
}

// An inner transaction began again. So do the outer ones, which still have what its first run put into them.
struct BeginAgain {};

struct Nest {
    Storage& storage;
    std::span<const unsigned> targets;
    std::span<WriteTransaction*> open;
    FunctionRef<void(std::span<WriteTransaction* const>)> body;
    FunctionRef<void(std::size_t)> committed;

    void run(std::size_t depth)
    {
        if (depth == targets.size()) {
            body(open);
            return;
        }
        Target& target = targets[depth] == meta_target ? storage.meta() : storage.target(targets[depth]);
        bool ran = false;
        target.write([&](WriteTransaction& transaction) {
            if (std::exchange(ran, true) && depth != 0) throw BeginAgain();
            open[depth] = &transaction;
            run(depth + 1);
        });
        committed(depth);
    }
};

} // namespace

Uuid random_uuid()
{
    std::random_device device;
    std::array<std::uint32_t, 4> bits;
    for (auto& word : bits)
        word = device();
    auto uuid = std::bit_cast<Uuid>(bits);
    uuid[6] = static_cast<std::uint8_t>((uuid[6] & 0x0f) | 0x40); // version 4, variant 1
    uuid[8] = static_cast<std::uint8_t>((uuid[8] & 0x3f) | 0x80);
    return uuid;
}

PoolHeader read_pool_header(ReadTransaction& meta, const std::string& path)
{
    PoolHeader header;
    const KeyBuffer key = meta_key(MetaSpace::header);
    const std::string where = "pool " + path;
    Bytes body;
    if (!get_sealed(meta, key.view(), body, where + ", metadata"))
        fail(DER_DF_INVAL, where + " has no header: its metadata is damaged; put it back from a copy");
    BodyReader reader(body);
    require_version(reader, where, header.version);
    const Bytes uuid = reader.bytes();
    header.created = reader.number();
    header.label = as_text(reader.bytes());
    if (!reader.complete() || uuid.size() != header.uuid.size())
        fail(DER_DF_INVAL, where + ": its header is incomplete: put its metadata back from a copy");
    std::memcpy(header.uuid.data(), uuid.data(), uuid.size());
    return header;
}

void verify_target_header(ReadTransaction& target, const std::string& path, const Uuid& pool, unsigned index)
{
    const std::string where = "pool " + path + ", target " + std::to_string(index);
    Bytes body;
    if (!get_sealed(target, KeyBuffer(Space::header).view(), body, where)) {
        fail(DER_DF_INVAL,
             where + " has no header: its files are missing or were emptied; put them back from a copy");
    }
    BodyReader reader(body);
    std::uint32_t version = 0;
    require_version(reader, where, version);
    const Bytes uuid = reader.bytes();
    const auto place = reader.number();
    if (!reader.complete() || !equal(uuid, bytes_of(pool)) || place != index) {
        fail(DER_DF_INVAL, where + " holds target " + std::to_string(place) +
                               " of another place or pool: "
                               "the pool's files were mixed up; put them back where they belong");
    }
}

PoolHeader format_pool(Storage& storage, const std::string& label)
{
    PoolHeader header;
    header.label = label;
    if (header.label.empty()) {
        auto path = std::filesystem::path(storage.path());
        header.label =
            path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
    }
    header.uuid = random_uuid();
    header.created = storage.next_epoch();
    storage.meta().write([&](WriteTransaction& meta) { put_pool_header(meta, header); });
    for (unsigned index = 0; index < storage.targets(); ++index)
        storage.target(index).write(
            [&](WriteTransaction& target) { put_target_header(target, header, index); });
    return header;
}

void write_nested(Storage& storage, std::span<const unsigned> targets,
                  FunctionRef<void(std::span<WriteTransaction* const>)> body,
                  FunctionRef<void(std::size_t)> committed)
{
    constexpr std::size_t few = 4;
    std::array<WriteTransaction*, few> first{};
    std::vector<WriteTransaction*> more(targets.size() > few ? targets.size() : 0);
    const std::span<WriteTransaction*> open =
        more.empty() ? std::span(first).first(targets.size()) : std::span(more);
    for (;;) {
        try {
            return Nest{storage, targets, open, body, committed}.run(0);
        } catch (const BeginAgain&) {
        }
    }
}

} // namespace stepstore::store

// A pool of each back end in turn, for the contract that all of them keep.
#pragma once

#include "base/checksum.h"
#include "stepstore/error.h"
#include "store/backend.h"
#include "support/backends.h"
#include "support/errors.h"
#include "support/temporary.h"

#include <daos_errno.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace stepstore::store {

using testing::code_of;

inline const Backend& backend_named(const std::string& name)
{
    for (const Backend& factory : backends()) {
        if (factory.name == name) return factory;
    }
    throw std::runtime_error("no back end " + name);
}

inline std::string text_of(Bytes bytes)
{
    return std::string(as_text(bytes));
}

inline void put(Target& target, std::string_view key, std::string_view value)
{
    target.write([&](WriteTransaction& transaction) { transaction.put(as_bytes(key), as_bytes(value)); });
}

// "(none)" when there is no such key.
inline std::string get(Target& target, std::string_view key)
{
    std::string result = "(none)";
    target.read([&](ReadTransaction& transaction) {
        Bytes value;
        if (transaction.get(as_bytes(key), value)) result = text_of(value);
    });
    return result;
}

inline std::unique_ptr<Storage> open_claimed(const Backend& backend, const std::string& path)
{
    auto pool = backend.open(path);
    pool->claim();
    return pool;
}

// One payload; a process that is killed before it has called entering() leaves nothing of it.
inline ExtentRef append_only(Target& target, const std::vector<Bytes>& pieces)
{
    Payload payload{pieces};
    target.append({&payload, 1});
    return payload.extent;
}

inline ExtentRef append(Target& target, const std::vector<Bytes>& pieces)
{
    const ExtentRef extent = append_only(target, pieces);
    target.entering(extent);
    return extent;
}

// Every key in order, with a blank after each.
inline std::string keys(ReadTransaction& transaction)
{
    std::string all;
    Entry entry;
    for (bool more = transaction.seek({}, entry); more; more = transaction.next(entry))
        all += text_of(entry.key) + " ";
    return all;
}

// Bytes that differ from seed to seed and from place to place.
inline std::vector<std::byte> pattern(std::size_t length, std::uint64_t seed)
{
    std::vector<std::byte> bytes(length);
    std::uint64_t state = seed * 0x9E3779B97F4A7C15 + 1;
    for (std::size_t at = 0; at < length; at += 8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        std::memcpy(bytes.data() + at, &state, std::min<std::size_t>(8, length - at));
    }
    return bytes;
}

struct Kind {
    std::string backend;
    Durability durability;
    friend std::ostream& operator<<(std::ostream& out, const Kind& kind)
    {
        return out << kind.backend << (kind.durability == Durability::power ? "_power" : "_process");
    }
};

// Of every back end there is: a new one runs all of this unchanged.
inline auto every_kind()
{
    std::vector<Kind> all;
    for (const std::string& backend : testing::backends_here())
        for (const Durability durability : {Durability::process, Durability::power})
            all.push_back({backend, durability});
    return ::testing::ValuesIn(all);
}

class BackendContract : public ::testing::TestWithParam<Kind> {
protected:
    void SetUp() override { pool_ = make("pool"); }
    void TearDown() override
    {
        pool_.reset();
        for (const std::string& path : made_) {
            if (factory().look(path) != Found::nothing) factory().destroy(path);
        }
    }
    const Backend& factory() const { return backend_named(GetParam().backend); }
    std::string path(const std::string& name) const
    {
        return testing::pool_path(directory_, GetParam().backend, name);
    }
    std::unique_ptr<Storage> make(const std::string& name, unsigned targets = 4)
    {
        made_.push_back(path(name));
        return factory().create(path(name), {targets, GetParam().durability});
    }
    Storage& pool() { return *pool_; }
    Target& target(unsigned index = 0) { return pool_->target(index); }

    testing::TemporaryDirectory directory_;
    std::vector<std::string> made_;
    std::unique_ptr<Storage> pool_;
};

} // namespace stepstore::store

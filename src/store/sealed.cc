#include "store/sealed.h"

#include "base/checksum.h"
#include "store/failure.h"
#include "store/verify_miss.h"

namespace stepstore::store {

namespace {

std::uint64_t seal(Bytes key, Bytes body)
{
    std::byte all[512];
    if (key.size() + body.size() <= sizeof all) {
        std::memcpy(all, key.data(), key.size());
        if (!body.empty()) std::memcpy(all + key.size(), body.data(), body.size());
        return checksum({all, key.size() + body.size()});
    }
    ChecksumStream stream;
    stream.update(key);
    stream.update(body);
    return stream.digest();
}

} // namespace

void put_sealed(WriteTransaction& transaction, Bytes key, Bytes body)
{
    put_back(transaction, key);
    const MutableBytes to = transaction.reserve(key, 8 + body.size());
    store_little(to.data(), seal(key, body));
    if (!body.empty()) std::memcpy(to.data() + 8, body.data(), body.size());
}

void erase_sealed(WriteTransaction& transaction, Bytes key)
{
    put_back(transaction, key);
    transaction.erase(key);
}

bool unseal(Bytes key, Bytes value, Bytes& body)
{
    if (value.size() < 8) return false;
    body = value.subspan(8);
    return load_little<std::uint64_t>(value.data()) == seal(key, body);
}

bool get_sealed(ReadTransaction& transaction, Bytes key, Bytes& body, const std::string& where)
{
    Bytes value;
    if (!transaction.get(key, value)) {
        if (const char* reason = damage_at_miss(transaction, key)) {
            fail_damaged(where + ": the record " + quoted(key) +
                         " was not found, and one beside its place is damaged (" + reason + ")");
        }
        return false;
    }
    if (!unseal(key, value, body))
        fail_damaged(where + ": the record " + quoted(key) + " is damaged (its checksum does not match)");
    return true;
}

std::uint64_t BodyReader::number()
{
    if (rest_.size() < 8) {
        overrun_ = true;
        return 0;
    }
    const auto value = load_little<std::uint64_t>(rest_.data());
    rest_ = rest_.subspan(8);
    return value;
}

Bytes BodyReader::bytes()
{
    const auto length = number();
    if (length > rest_.size()) {
        overrun_ = true;
        return {};
    }
    const Bytes value = rest_.first(length);
    rest_ = rest_.subspan(length);
    return value;
}

} // namespace stepstore::store

#include "store/failure.h"

#include "base/text.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <iterator>

namespace stepstore::store {

void fail(int der, const std::string& message)
{
    throw Error(-der, message);
}

void fail_damaged(const std::string& what)
{
    fail(DER_CSUM, what + "; a check of the pool says what can be saved");
}

bool says_damage(const Error& error)
{
    constexpr int others[] = {DER_NO_PERM,  DER_NOMEM,   DER_DF_INCOMPT, DER_BUSY,    DER_AGAIN,
                              DER_TIMEDOUT, DER_NOSPACE, DER_STALE,      DER_CANCELED};
    return std::ranges::find(others, -error.code()) == std::end(others);
}

std::string text(const Uuid& uuid)
{
    return uuid_text(uuid.data());
}

std::string text(const ObjectId& oid)
{
    return object_id_text(oid.hi, oid.lo);
}

std::string quoted(Bytes key)
{
    constexpr std::size_t shown = 64;
    std::string result = "\"";
    for (const std::byte byte : key.first(std::min(key.size(), shown))) {
        const auto c = static_cast<unsigned char>(byte);
        if (std::isprint(c) != 0 && c != '"' && c != '\\') {
            result += static_cast<char>(c);
        } else {
            char buffer[8];
            std::snprintf(buffer, sizeof buffer, "\\x%02x", static_cast<unsigned>(c));
            result += buffer;
        }
    }
    result += '"';
    if (key.size() > shown) result += "... (" + std::to_string(key.size()) + " bytes)";
    return result;
}

} // namespace stepstore::store

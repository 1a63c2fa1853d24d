#include "store/failure.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace stepstore::store {

void fail(int der, const std::string& message)
{
    throw Error(-der, message);
}

std::string text(const Uuid& uuid)
{
    static constexpr char digits[] = "0123456789abcdef";
    std::string result;
    for (std::size_t i = 0; i < uuid.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) result += '-';
        result += digits[uuid[i] >> 4];
        result += digits[uuid[i] & 15];
    }
    return result;
}

std::string text(const ObjectId& oid)
{
    char buffer[48];
    std::snprintf(buffer, sizeof buffer, "%llx.%llx", static_cast<unsigned long long>(oid.hi),
                  static_cast<unsigned long long>(oid.lo));
    return buffer;
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

bool parse_uuid(std::string_view text, Uuid& uuid)
{
    if (text.size() != 36) return false;
    const auto digit = [](char c) -> int {
        if (c >= '0' && c <= '9') return c - '0';
        if (c >= 'a' && c <= 'f') return c - 'a' + 10;
        if (c >= 'A' && c <= 'F') return c - 'A' + 10;
        return -1;
    };
    std::size_t at = 0;
    for (std::size_t i = 0; i < uuid.size(); ++i) {
        if (at == 8 || at == 13 || at == 18 || at == 23) {
            if (text[at++] != '-') return false;
        }
        const int high = digit(text[at]);
        const int low = digit(text[at + 1]);
        if (high < 0 || low < 0) return false;
        uuid[i] = static_cast<std::uint8_t>(high << 4 | low);
        at += 2;
    }
    return true;
}

} // namespace stepstore::store

// Ids as text: one form in every message, on the command line and in JSON. Names without regard to case.
// Texts for C.
// Threads: any; pure. Errors: -DER_INVAL of c_text(), nullopt of parse_uuid().
#pragma once

#include "stepstore/error.h"

#include <daos_errno.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stepstore {

// "HI.LO" in decimal, as `stepstore ls` prints it and as locations take it.
inline std::string object_id_text(std::uint64_t hi, std::uint64_t lo)
{
    return std::to_string(hi) + '.' + std::to_string(lo);
}

// Of 16 bytes: 8-4-4-4-12 hexadecimal digits.
inline std::string uuid_text(const std::uint8_t* uuid)
{
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (int i = 0; i < 16; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += digits[uuid[i] >> 4];
        text += digits[uuid[i] & 15];
    }
    return text;
}

// The other way round; nothing for any other text.
inline std::optional<std::array<std::uint8_t, 16>> parse_uuid(std::string_view text)
{
    constexpr std::string_view digits = "0123456789abcdefABCDEF";
    if (text.size() != 36) return std::nullopt;
    std::array<std::uint8_t, 16> uuid{};
    std::size_t digit = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            if (text[i] != '-') return std::nullopt;
            continue;
        }
        const std::size_t value = digits.find(text[i]);
        if (value == std::string_view::npos) return std::nullopt;
        uuid[digit / 2] = static_cast<std::uint8_t>(uuid[digit / 2] << 4 | (value < 16 ? value : value - 6));
        ++digit;
    }
    return uuid;
}

// Of ASCII letters.
inline std::string lower(std::string_view text)
{
    std::string result(text);
    std::ranges::transform(result, result.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

// Without regard to case.
inline bool same_name(std::string_view a, std::string_view b)
{
    return std::ranges::equal(
        a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// A text for a C call, which reads it up to its first zero byte: -DER_INVAL where that is not its end.
inline const char* c_text(const std::string& text, const char* what)
{
    if (const std::size_t zero = text.find('\0'); zero != std::string::npos)
        throw Error(-DER_INVAL, std::string(what) + " '" + text.substr(0, zero) +
                                    "...' has a zero byte in it at " + std::to_string(zero) +
                                    ", where C and DAOS end a text: leave it out");
    return text.c_str();
}

} // namespace stepstore

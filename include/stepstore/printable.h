// Text that others wrote, as a terminal, a log or a page may show it: one line, and in the order in which it
// stands. Names of snapshots, containers, streams and keys are any bytes, chosen by those who may write in a
// pool.
//
// The message of every Error passes through here, and so do warnings and all that the command line prints. A
// program that prints names of its own accord calls it.
//
// Threads: any; all of this is pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stepstore {

namespace detail {

// The character of UTF-8 at the beginning of `text`, and how many bytes it takes. 0 bytes: there is none.
struct Character {
    std::uint32_t point = 0;
    std::size_t length = 0;
};
inline Character first_character(std::string_view text)
{
    const auto byte = [&](std::size_t at) {
        return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at]));
    };
    const std::uint32_t first = byte(0);
    const std::size_t length = first < 0x80   ? 1
                               : first < 0xc2 ? 0
                               : first < 0xe0 ? 2
                               : first < 0xf0 ? 3
                               : first < 0xf5 ? 4
                                              : 0;
    if (length <= 1) return {first, length};
    if (text.size() < length) return {};
    std::uint32_t point = first & (0x7fU >> length);
    for (std::size_t at = 1; at < length; ++at) {
        if ((byte(at) & 0xc0) != 0x80) return {};
        point = point << 6 | (byte(at) & 0x3f);
    }
    const bool shortest = point >= (length == 2 ? 0x80U : length == 3 ? 0x800U : 0x10000U);
    const bool real = shortest && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
    return real ? Character{point, length} : Character{};
}

// Commands to a terminal (C0, C1), ends of lines, and what turns the direction of writing.
inline bool is_command(std::uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x061c || point == 0x200e ||
           point == 0x200f || (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) ||
           point == 0xfeff;
}

inline void append_escape(std::string& to, std::string_view kind, std::uint32_t number, unsigned digits)
{
    to += kind;
    while (digits-- > 0)
        to += "0123456789abcdef"[number >> (4 * digits) & 15];
}

} // namespace detail

// Commands and bytes that are no UTF-8 as \n, \x1b or \u202e. All else stays, so it is its own printable().
inline std::string printable(std::string_view text)
{
    std::string shown;
    shown.reserve(text.size());
    while (!text.empty()) {
        const detail::Character one = detail::first_character(text);
        if (one.length == 0)
            detail::append_escape(shown, "\\x", static_cast<unsigned char>(text.front()), 2);
        else if (!detail::is_command(one.point))
            shown += text.substr(0, one.length);
        else if (one.point == '\n' || one.point == '\t')
            shown += one.point == '\n' ? "\\n" : "\\t";
        else
            detail::append_escape(shown, one.point < 0x100 ? "\\x" : "\\u", one.point,
                                  one.point < 0x100 ? 2 : 4);
        text.remove_prefix(one.length == 0 ? 1 : one.length);
    }
    return shown;
}

} // namespace stepstore

// Text that others wrote, as a terminal may show it.
#include "stepstore/printable.h"
#include "daos_errno.h"
#include "stepstore/error.h"

#include <gtest/gtest.h>

#include <random>

namespace stepstore {
namespace {

std::string encoded(std::uint32_t point)
{
    const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
    if (point < 0x80) return {byte(point)};
    const auto rest = [&](unsigned shift) { return byte(0x80 | (point >> shift & 0x3f)); };
    if (point < 0x800) return {byte(0xc0 | point >> 6), rest(0)};
    if (point < 0x10000) return {byte(0xe0 | point >> 12), rest(6), rest(0)};
    return {byte(0xf0 | point >> 18), rest(12), rest(6), rest(0)};
}

// No bytes below a space, and what Unicode calls a control or a change of direction, in its own words.
bool has_command(const std::string& text)
{
    for (std::size_t at = 0; at < text.size(); ++at) {
        const auto one = static_cast<unsigned char>(text[at]);
        if (one < 0x20 || one == 0x7f) return true;
        if (one == 0xc2 && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xa0)
            return true;
    }
    for (const char* turn : {"\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068",
                             "\u2069", "\u200e", "\u200f", "\u061c", "\u2028", "\u2029"})
        if (text.find(turn) != std::string::npos) return true;
    return false;
}

TEST(Printable, CommandsAreShownAndAllElseStays)
{
    EXPECT_EQ(printable("\x1b]52;c;cm0=\x07"), "\\x1b]52;c;cm0=\\x07");
    EXPECT_EQ(printable("a\nb\tc\r"), "a\\nb\\tc\\x0d");
    EXPECT_EQ(printable("\u009b31m"), "\\x9b31m"); // the same command in one character
    EXPECT_EQ(printable("abc\u202etxt"), "abc\\u202etxt");
    EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
    EXPECT_EQ(printable(""), "");
    for (const char* text :
         {"plain", "Temperatur \u00b0C", "\u6e29\u5ea6", "e\u0301 \U0001f30d", "back\\slash"})
        EXPECT_EQ(printable(text), text);
}

TEST(Printable, BytesThatAreNoUtf8AreShown)
{
    EXPECT_EQ(printable("\xff\x80"), "\\xff\\x80");
    EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b");          // too long a form of a command
    EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80"); // half a character
    EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
    EXPECT_EQ(printable("\xe6\xb8"), "\\xe6\\xb8"); // cut off
}

TEST(Printable, NoCharacterIsACommandAfterwards)
{
    for (std::uint32_t point = 0; point < 0x110000; ++point) {
        if (point >= 0xd800 && point < 0xe000) continue;
        const std::string text = encoded(point), shown = printable(text);
        ASSERT_FALSE(has_command(shown)) << point;
        ASSERT_EQ(shown == text, !has_command(text) && point != 0xfeff) << point;
    }
}

TEST(Printable, AnyBytesGiveOneLineThatStaysAsItIs)
{
    std::mt19937 random(1);
    for (int i = 0; i < 20'000; ++i) {
        std::string text(random() % 12, '\0');
        for (char& one : text)
            one = static_cast<char>(random() % 3 == 0 ? random() : 0x80 | random() % 0x80);
        const std::string shown = printable(text);
        ASSERT_FALSE(has_command(shown));
        ASSERT_EQ(printable(shown), shown);
    }
}

// Code that throws one need not think of it.
TEST(Printable, TheMessageOfAnErrorIsOneLineWithoutCommands)
{
    const Error error(-DER_INVAL, "container '\x1b[2Jx\nerror: y\xff': no");
    EXPECT_STREQ(error.what(), "container '\\x1b[2Jx\\nerror: y\\xff': no");
}

} // namespace
} // namespace stepstore

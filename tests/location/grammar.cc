// The grammar of locations: the table in table.txt, and what a line of a table cannot hold.
#include "location/location.h"
#include "stepstore/error.h"

#include <gtest/gtest.h>

#include <daos_errno.h>

#include <fstream>
#include <functional>

namespace stepstore {
namespace {

std::string trimmed(const std::string& text)
{
    const auto first = text.find_first_not_of(' ');
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// "bad" and the message, where it is refused.
std::string told(const std::function<std::string()>& ask)
{
    try {
        return ask();
    } catch (const Error& error) {
        return (error.code() == -DER_INVAL ? "bad " : "another error ") + std::string(error.what());
    }
}

std::string or_dash(const std::string& text)
{
    return text.empty() ? "-" : text;
}

std::string read(const std::string& location)
{
    return told([&] {
        const LocationParts parts = parse_location(location);
        if (!parts.is_path()) return "network " + parts.pool + " " + or_dash(parts.rest);
        if (!parts.label.empty()) return "label " + parts.label + " " + or_dash(parts.rest);
        const bool shared = parts.form.scheme == "shared:";
        return (shared ? "shared " : parts.after_local ? "local " : "path ") + parts.path;
    });
}

std::string read_names(const std::string& location)
{
    return told([&] {
        const ContainerAndStream names = parse_names(parse_location(location).rest, location);
        return names.container + " " + names.stream;
    });
}

void expect_told(const std::string& told, const std::string& expected, const std::string& location)
{
    if (!expected.starts_with("bad ")) {
        EXPECT_EQ(told, expected) << location;
        return;
    }
    EXPECT_TRUE(told.starts_with("bad ") && told.find(expected.substr(4)) != std::string::npos &&
                told.find("'" + location + "'") != std::string::npos)
        << location << ": " << told << ", and not " << expected;
}

TEST(Grammar, ReadsEachLocationOfTheTable)
{
    std::ifstream table(STEPSTORE_LOCATIONS);
    unsigned lines = 0;
    for (std::string line; std::getline(table, line);) {
        if (line.starts_with('#')) continue;
        const auto bar = line.find('|');
        ASSERT_NE(bar, std::string::npos) << line;
        const std::string location = trimmed(line.substr(0, bar)), expected = trimmed(line.substr(bar + 1));
        const auto names = expected.find(" = ");
        expect_told(read(location), expected.substr(0, names), location);
        if (names != std::string::npos)
            expect_told(read_names(location), expected.substr(names + 3), location);
        ++lines;
    }
    EXPECT_GT(lines, 40U);
    expect_told(read(""), "bad is empty", "");
    EXPECT_NE(read("rados://a\nb/c").find("control character"), std::string::npos);
}

TEST(Grammar, BoundsTheLengthsOfNames)
{
    EXPECT_EQ(read_names("daos://tank/" + std::string(127, 'c')), std::string(127, 'c') + " main");
    EXPECT_EQ(read_names("daos://tank/c/" + std::string(1024, 's')), "c " + std::string(1024, 's'));
    for (const std::string& bad :
         {"daos://tank/" + std::string(128, 'c'), "daos://tank/c/" + std::string(1025, 's')})
        expect_told(read_names(bad), "bad bytes", bad);
    EXPECT_TRUE(is_pool_label(std::string(127, 'l')));
    EXPECT_FALSE(is_pool_label(std::string(128, 'l')));
    EXPECT_FALSE(is_pool_label("") || is_pool_label("a b") || is_pool_label("..") || is_pool_label("a/b"));
    EXPECT_FALSE(is_pool_label(std::string("a\0b", 3)));
}

TEST(Grammar, ReadsObjectsAndTheirKeys)
{
    const auto object = parse_object("18446744073709551615.0/a%2f/b");
    ASSERT_TRUE(object);
    EXPECT_EQ(object->hi, UINT64_MAX);
    EXPECT_EQ(object->lo, 0U);
    EXPECT_EQ(object->key, "a%2f/b");
    EXPECT_FALSE(parse_object("1.2")->key);
    EXPECT_EQ(parse_object("1.2/")->key, "");
    for (const char* stream : {"", "main", "1", "1.", ".2", "-1.2", "+1.2", "1.2.3", "1.2a", "0x1.2", " 1.2",
                               "100000000000000000000.2", "a/1.2"})
        EXPECT_FALSE(parse_object(stream)) << stream << ": " << "may be a stream";
    EXPECT_TRUE(
        told([] { return std::to_string(parse_object("18446744073709551616.0")->hi); }).starts_with("bad "));
}

TEST(Grammar, TellsWhatPoolsOfAFormHave)
{
    for (const char* path : {"run", "local:weather", "stepstore://run"})
        EXPECT_TRUE(capabilities_of(path).directory && capabilities_of(path).one_machine) << path;
    for (const char* network : {"rados://pool/space", "daos://tank", "stepstore://rados://pool"})
        EXPECT_TRUE(capabilities_of(network).network && !capabilities_of(network).directory) << network;
    EXPECT_TRUE(capabilities_of("rados://pool").own_store);
    EXPECT_FALSE(capabilities_of("daos://tank").own_store);
}

TEST(Grammar, SpellsAPlaceInOneWay)
{
    const std::pair<const char*, const char*> spelled[] = {
        {"run", "/home/run"},
        {"./a//b/./c/", "/home/a/b/c"},
        {"../run", "/home/../run"},
        {"/data//run/", "/data/run"},
        {"/", "/"},
        {".", "/home"},
        {"stepstore://run", "/home/run"},
        {"local:weather", "local:weather"},
        {"local:weather/", "local:weather"},
        {"local:weather//box/./a", "local:weather/box/a"},
        {"local:./weather", "/home/weather"},
        {"local:/data/run", "/data/run"},
        {"rados://pool", "rados://pool"},
        {"rados://pool/", "rados://pool"},
        {"rados://pool//box", "rados://pool//box"},
        {"rados://pool/space//box/", "rados://pool/space/box"},
        {"stepstore://daos://tank/box/./a", "daos://tank/box/a"},
    };
    for (const auto& [location, expected] : spelled) {
        EXPECT_EQ(absolute_location(location, "/home"), expected) << location;
        EXPECT_EQ(absolute_location(expected, "/home"), expected) << location << ": is not stable";
    }
    EXPECT_EQ(absolute_location("run", "/"), "/run");
    expect_told(told([] { return absolute_location("s3://bucket", "/home"); }), "bad does not know",
                "s3://bucket");
}

} // namespace
} // namespace stepstore

// Marks of numbers that are not published yet, as fields, arrays and blobs use them.
#include "client/unpublished.h"

#include "base/record.h"
#include "client_fixture.h"

#include <algorithm>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace stepstore::testing {
namespace {

struct Form {
    struct Mark {
        std::uint64_t first = 0;
        ProcessIdentity process;
    };
    static std::vector<std::byte> encode(const Mark& mark)
    {
        std::vector<std::byte> bytes;
        WireWriter to(bytes);
        to.fixed(mark.first);
        write_process(to, mark.process);
        return bytes;
    }
    static std::optional<Mark> decode(Bytes bytes, const std::string& what)
    {
        if (bytes.size() < sizeof(std::uint64_t)) return std::nullopt;
        WireReader from(bytes, what);
        const auto first = from.fixed<std::uint64_t>();
        return Mark{first, read_process(from)};
    }
    static const ProcessIdentity& process(const Mark& mark) { return mark.process; }
};
using Marks = Unpublished<Form>;
using Numbers = std::vector<std::uint64_t>;

ProcessIdentity dead_process()
{
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ::waitpid(child, nullptr, 0);
    ProcessIdentity dead = this_process();
    dead.process = static_cast<std::uint64_t>(child);
    return dead;
}

ProcessIdentity elsewhere()
{
    ProcessIdentity other = this_process();
    other.machine = "another machine";
    return other;
}

class UnpublishedMarks : public ClientTest {
protected:
    UnpublishedMarks() { marks.put(40, {40, elsewhere()}); }

    // Takes back with nothing named but `named`; what was destroyed.
    Numbers take_back(const Numbers& named = {})
    {
        Numbers destroyed;
        marks.take_back(
            Marks::is_of_the_dead, [&] { return named; },
            [&](const Form::Mark& mark, const Numbers& names) {
                if (std::ranges::find(names, mark.first) == names.end()) destroyed.push_back(mark.first);
            });
        return destroyed;
    }
    std::vector<std::string> keys() const { return object.list_below("w/"); }

    KeyValue object = key_value();
    Marks marks{object, "w/", "a writer"};
    const ProcessIdentity dead = dead_process();
};

TEST_F(UnpublishedMarks, OnlyThoseOfTheDeadAreTakenBack)
{
    marks.put(10, {10, dead});
    marks.put(20, {20, this_process()});
    marks.put(30, {30, dead});
    EXPECT_EQ(take_back({30}), Numbers{10});
    EXPECT_EQ(keys(), (std::vector<std::string>{"w/20", "w/40"}));
    EXPECT_EQ(take_back(), Numbers());
    marks.remove(20);
    EXPECT_EQ(keys(), std::vector<std::string>{"w/40"});
}

TEST_F(UnpublishedMarks, OfOtherMachinesTheUserDecides)
{
    EXPECT_EQ(take_back(), Numbers());
    const auto all = marks.left([](const Form::Mark& mark) { return life_of(mark.process) != Life::alive; });
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all.front().mark.first, 40U);
}

TEST_F(UnpublishedMarks, WhatIsNamedIsReadAfterTheMarks)
{
    // A process whose mark comes after they were read may publish after the names were read.
    marks.put(10, {10, dead});
    Numbers destroyed;
    marks.take_back(
        Marks::is_of_the_dead,
        [&] {
            marks.put(50, {50, dead});
            return 0;
        },
        [&](const Form::Mark& mark, int) { destroyed.push_back(mark.first); });
    EXPECT_EQ(destroyed, Numbers{10});
    EXPECT_EQ(take_back(), Numbers{50});
}

TEST_F(UnpublishedMarks, ThatWhichIsNotTakenBackToTheEndIsFoundAgain)
{
    marks.put(10, {10, dead});
    const auto fails = [&] {
        marks.take_back(
            Marks::is_of_the_dead, [] { return 0; },
            [](const Form::Mark&, int) { throw std::runtime_error("as it was destroyed"); });
    };
    EXPECT_THROW(fails(), std::runtime_error);
    EXPECT_EQ(take_back(), Numbers{10});
}

TEST_F(UnpublishedMarks, WithoutTheDeadNothingMoreIsRead)
{
    marks.put(20, {20, this_process()});
    const auto read_names = [] {
        ADD_FAILURE() << "there is nothing to take back";
        return 0;
    };
    EXPECT_EQ(marks.take_back(Marks::is_of_the_dead, read_names, [](const Form::Mark&, int) {}), 0U);
}

TEST_F(UnpublishedMarks, ADamagedOneStaysAndKeepsWhatItNamed)
{
    object.put("w/10", bytes("?"));
    EXPECT_EQ(take_back(), Numbers());
    EXPECT_EQ(keys(), (std::vector<std::string>{"w/10", "w/40"}));
}

} // namespace
} // namespace stepstore::testing

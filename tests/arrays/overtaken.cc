// A writer that is stopped before one of its calls, for so long that others take it for dead, and that goes
// on then. What others have published meanwhile stays.
#include "support/overtaken.h"
#include "arrays/head.h"
#include "arrays/model.h"
#include "stepstore/administration.h"

#include <atomic>
#include <latch>
#include <thread>
#include <utility>

namespace stepstore::arrays::testing {
namespace {

using stepstore::testing::Overtaken;

class OvertakenArrays : public ArraysTest {
protected:
    // What others do meanwhile. shape: large enough for a table of its own.
    void publish_newer()
    {
        const auto store = open(Mode::write);
        const std::vector<std::string> names = store->list();
        there_before_ = std::ranges::find(names, "T") != names.end();
        write_vector(*store, "T", newer);
        const std::int32_t value = 7;
        Attribute unit;
        unit.type = {Kind::int32};
        unit.count = 1;
        unit.values.assign(reinterpret_cast<const std::byte*>(&value),
                           reinterpret_cast<const std::byte*>(&value) + sizeof value);
        store->set_attribute("T", "unit", unit);
        newer_version_ = store->inquire("T").version;
        store->close();
    }
    void write_old()
    {
        const auto store = open(Mode::write);
        write_vector(*store, "T", old);
        store->close();
    }
    std::vector<std::string> listed() const { return open(Mode::read)->list(); }
    // Of the version that is there: its values, its attributes.
    void expect_array(const std::vector<double>& values, bool with_attribute)
    {
        EXPECT_EQ(listed(), std::vector<std::string>{"T"});
        const auto store = open(Mode::read);
        EXPECT_EQ(read_vector(*store, "T"), values);
        EXPECT_EQ(store->attributes("T"),
                  with_attribute ? std::vector<std::string>{"unit"} : std::vector<std::string>{});
    }
    int code_of_failure() const
    {
        if (!overtaken.failure()) return 0;
        try {
            std::rethrow_exception(overtaken.failure());
        } catch (const Error& error) {
            return error.code();
        }
    }

    Overtaken overtaken;
    std::vector<double> old = std::vector<double>(10, 1), newer = std::vector<double>(20, 2),
                        mine = std::vector<double>(30, 3);
    bool there_before_ = false;
    std::uint64_t newer_version_ = 0;
};

TEST_F(OvertakenArrays, AWriterThatIsLatePublishesAfterTheOthers)
{
    for (const bool replaces : {false, true}) {
        int after = 0;
        for (std::size_t at = 0;; ++at) {
            SCOPED_TRACE("call " + std::to_string(at));
            location =
                stepstore::testing::new_pool(directory, "w" + std::to_string(at) + (replaces ? "r" : ""));
            if (replaces)
                write_old();
            else
                open(Mode::write)->close();
            if (!overtaken.run(
                    at, [&] { publish_newer(); },
                    [&] {
                        const auto store = open(Mode::write);
                        write_vector(*store, "T", mine);
                        store->close();
                    }))
                break;
            EXPECT_EQ(overtaken.failure(), nullptr);
            const auto store = open(Mode::read);
            const bool is_mine = read_vector(*store, "T") == mine;
            EXPECT_EQ(store->inquire("T").version > newer_version_, is_mine);
            expect_array(is_mine ? mine : newer, true);
            after += is_mine;
            // The array can be written as before.
            write_old();
            expect_array(old, true);
        }
        EXPECT_GT(after, 0);
    }
}

TEST_F(OvertakenArrays, OneThatAppendsLosesNothingOfOthers)
{
    const auto append = [&](Store& store, int blocks, double value) {
        for (int i = 0; i < blocks; ++i) {
            const std::vector<double> values(4, value);
            store.write({.name = "T",
                         .type = {Kind::real64},
                         .shape = {4},
                         .data = values.data(),
                         .placement = Placement::object_per_block,
                         .append_along = 0});
        }
    };
    int stale = 0;
    for (std::size_t at = 0;; ++at) {
        SCOPED_TRACE("call " + std::to_string(at));
        location = stepstore::testing::new_pool(directory, "a" + std::to_string(at));
        append(*open(Mode::write), 3, 1);
        bool others_came = false;
        const bool came = overtaken.run(
            at,
            [&] {
                append(*open(Mode::write), 1, 2);
                others_came = true;
            },
            [&] { append(*open(Mode::write), 1, 3); });
        if (!came) break;
        ASSERT_TRUE(others_came);
        if (overtaken.failure()) {
            EXPECT_EQ(code_of_failure(), -DER_STALE);
            ++stale;
        }
        const auto store = open(Mode::read);
        const std::vector<double> values = read_vector(*store, "T");
        EXPECT_EQ(values.size(), 4U * (overtaken.failure() ? 4 : 5));
        EXPECT_EQ(std::ranges::count(values, 2.0), 4);
        EXPECT_EQ(std::ranges::count(values, 3.0), overtaken.failure() ? 0 : 4);
        append(*open(Mode::write), 1, 4);
        EXPECT_EQ(read_vector(*open(Mode::read), "T").size(), values.size() + 4);
    }
    EXPECT_GT(stale, 0);
}

TEST_F(OvertakenArrays, ATableOfANewerHeaderIsNotOverwritten)
{
    const Container container = Pool::connect_or_create(location).open_or_create_container("default");
    Head stopped(container, "T", "array 'T'", Access::read_write);
    Head other(container, "T", "array 'T'", Access::read_write);
    const auto table = [](char letter) {
        const std::string text(100, letter);
        const Bytes bytes = as_bytes(text);
        return std::vector<std::byte>(bytes.begin(), bytes.end());
    };
    EXPECT_EQ(other.put_table(5, table('n')), 5U);
    EXPECT_EQ(stopped.put_table(5, table('o')), 6U);
    KeyValue object = container.key_value(head_id(container, "T"));
    EXPECT_EQ(object.get("table/5"), table('n'));
    EXPECT_EQ(object.get("table/6"), table('o'));
}

TEST_F(OvertakenArrays, OfManyThatPublishAtOnceEachSucceedsAndLeavesNothing)
{
    const Container container = Pool::connect_or_create(location).open_or_create_container("default");
    constexpr int writers = 4, rounds = 25;
    std::vector<std::thread> threads;
    std::atomic<int> calls = 0;
    std::latch together(writers); // in the first round all begin with the same header
    for (int i = 0; i < writers; ++i)
        threads.emplace_back([&, i] {
            Head head(container, "T", "array 'T'", Access::read_write);
            for (int round = 0; round < rounds; ++round) {
                bool waits = round == 0;
                const Header fresh = head.publish([&](const std::optional<Header>& there) {
                    ++calls;
                    if (std::exchange(waits, false)) together.arrive_and_wait();
                    Header header;
                    header.name = "T";
                    header.type = {Kind::real64};
                    header.dimensions = 1;
                    header.shape[0] = 1;
                    if (there)
                        for (const TableRef& one : there->tables)
                            header.dropped_tables.push_back(one.number);
                    TableRef table;
                    table.number = head.put_table(there ? there->next_table : 0, as_bytes("a table"));
                    table.blocks = static_cast<std::uint64_t>(i * rounds + round);
                    header.next_table = table.number + 1;
                    header.tables = {table};
                    return header;
                });
                head.destroy_dropped(container, fresh);
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    const Head head(container, "T", "array 'T'", Access::read_only);
    const Header last = head.decode(head.header_bytes().value());
    EXPECT_EQ(last.version, static_cast<std::uint64_t>(writers * rounds));
    EXPECT_EQ(container.key_value(head_id(container, "T"), Access::read_only).list_below("table/"),
              std::vector{"table/" + std::to_string(last.tables.at(0).number)});
    EXPECT_GE(calls, writers * rounds + writers - 1) << "all but one of the first round were overtaken";
}

// It takes away what it saw before it published the removal. It leaves the attributes and the entry in the
// list of an array that was made after its removal.
TEST_F(OvertakenArrays, OneThatRemovesLeavesANewArrayAlone)
{
    int removed_before = 0;
    for (std::size_t at = 0;; ++at) {
        SCOPED_TRACE("call " + std::to_string(at));
        location = stepstore::testing::new_pool(directory, "r" + std::to_string(at));
        write_old();
        {
            const auto store = open(Mode::write);
            for (const char* name : {"one", "two"}) {
                Attribute attribute;
                attribute.type = {Kind::int8};
                attribute.count = 1;
                attribute.values = {std::byte{1}};
                store->set_attribute("T", name, attribute);
            }
        }
        if (!overtaken.run(
                at, [&] { publish_newer(); },
                [&] {
                    const auto store = open(Mode::write);
                    store->remove("T");
                    store->close();
                }))
            break;
        EXPECT_EQ(overtaken.failure(), nullptr);
        if (there_before_) {
            EXPECT_EQ(listed(), std::vector<std::string>{}); // removed after the newer one was written
            continue;
        }
        ++removed_before;
        EXPECT_EQ(listed(), std::vector<std::string>{"T"});
        const auto store = open(Mode::read);
        EXPECT_EQ(read_vector(*store, "T"), newer);
        const std::vector<std::string> attributes = store->attributes("T");
        EXPECT_TRUE(std::ranges::find(attributes, "unit") != attributes.end());
    }
    EXPECT_GT(removed_before, 0);
}

// A writer publishes and dies just when another one collects what the dead have left.
TEST_F(OvertakenArrays, OneThatCollectsSeesWhatWasPublishedMeanwhile)
{
    for (std::size_t at = 0;; ++at) {
        SCOPED_TRACE("call " + std::to_string(at));
        location = stepstore::testing::new_pool(directory, "c" + std::to_string(at));
        write_old();
        const Container container = Pool::connect(location).open_container("default");
        KeyValue head = container.key_value(head_id(container, "T"));
        const auto old_header = head.get("header").value();
        write_vector(*open(Mode::write), "T", newer);
        const auto newer_header = head.get("header").value();
        // As it is before the other one publishes, and dies.
        const std::uint64_t generation = open(Mode::read)->inquire("T").generation;
        WritingMark mark;
        mark.writer = this_process();
        ++mark.writer.started;
        mark.objects = {{generation, 1}};
        head.put("writing/" + std::to_string(generation), encode(mark));
        head.put("header", old_header);
        Head collector(container, "T", "array 'T'", Access::read_write);
        mark.writer = this_process(); // it still lives
        const auto dead = head.get("writing/" + std::to_string(generation)).value();
        head.put("writing/" + std::to_string(generation), encode(mark));
        const auto publish = [&] {
            head.put("header", newer_header);
            head.put("writing/" + std::to_string(generation), dead);
        };
        if (!overtaken.run(at, publish, [&] { collector.collect(container); })) break;
        EXPECT_EQ(overtaken.failure(), nullptr);
        EXPECT_EQ(read_vector(*open(Mode::read), "T"), newer);
    }
}

} // namespace
} // namespace stepstore::arrays::testing

// Updates that got no answer (client/in_doubt.h): carried out late, or never. What is published then is
// whole, what is not gives its space back, and the process can go on at once.
#include "client/in_doubt.h"
#include "arrays/arrays.h"
#include "fields/fixture.h"
#include "fields/record.h"
#include "steps/read/reader.h"
#include "steps/write/writer.h"
#include "support/faulty_library.h"

#include <numeric>

namespace stepstore::testing {
namespace {

class InDoubt : public ::testing::Test {
protected:
    InDoubt() { use_faulty_library(); }
    ~InDoubt() override
    {
        late.disarm();
        late.kept.clear();
        Library::restore_ours();
    }

    Late& late = Late::one();
    TemporaryDirectory directory;
    std::string location = directory / "pool";
};

TEST_F(InDoubt, ARefusalIsNot)
{
    for (const int code : {DER_NOSPACE, DER_NO_PERM, DER_EXIST, DER_NONEXIST, DER_STALE, DER_BUSY})
        EXPECT_FALSE(is_in_doubt(Error(-code, "")));
    for (const int code : {DER_TIMEDOUT, DER_IO, DER_MISC, DER_CANCELED, DER_UNREACH})
        EXPECT_TRUE(is_in_doubt(Error(-code, "")));
}

// ---- arrays

class ArraysInDoubt : public InDoubt {
protected:
    static constexpr std::int64_t elements = 6000;

    void write(arrays::Store& store, double first, bool append = false)
    {
        std::vector<double> values(elements);
        std::iota(values.begin(), values.end(), first);
        arrays::WriteCall call{
            .name = "T", .type = {arrays::Kind::real64}, .shape = {elements}, .data = values.data()};
        if (append) call.append_along = 0;
        store.write(call);
    }
    void expect(const std::vector<double>& firsts) const
    {
        arrays::Store store(location, arrays::Mode::read, self_communicator());
        const std::int64_t all = elements * static_cast<std::int64_t>(firsts.size());
        std::vector<double> found(static_cast<std::size_t>(all));
        store.read({.name = "T",
                    .type = {arrays::Kind::real64},
                    .dimensions = 1,
                    .shape = {all},
                    .data = found.data()});
        for (std::size_t slab = 0; slab < firsts.size(); ++slab)
            for (std::size_t i = 0; i < static_cast<std::size_t>(elements); ++i)
                ASSERT_EQ(found[slab * static_cast<std::size_t>(elements) + i],
                          firsts[slab] + static_cast<double>(i));
    }
    // That hold data.
    std::size_t objects(const arrays::Store& store) const
    {
        const std::string label = store.where().substr(store.where().rfind('/') + 1);
        return arrays_in(location, label);
    }
    static std::size_t arrays_in(const std::string& pool, const std::string& label)
    {
        return fields::testing::arrays_in(pool, label);
    }
};

TEST_F(ArraysInDoubt, AHeaderThatComesLateNamesWhatIsThere)
{
    arrays::Store store(location, arrays::Mode::write, self_communicator());
    write(store, 1);
    for (const bool append : {false, true}) {
        late.puts = "header";
        EXPECT_ERROR(-DER_TIMEDOUT, write(store, 1e6, append));
        late.disarm();
        ASSERT_EQ(late.kept.size(), 1U);
        late.carry_out();
        append ? expect({1e6, 1e6}) : expect({1e6});
    }
    write(store, 7, true);
    expect({1e6, 1e6, 7});
}

TEST_F(ArraysInDoubt, AHeaderThatNeverComesGivesItsSpaceBack)
{
    arrays::Store store(location, arrays::Mode::write, self_communicator());
    write(store, 1);
    EXPECT_EQ(objects(store), 1U);
    late.puts = "header";
    EXPECT_ERROR(-DER_TIMEDOUT, write(store, 2));
    EXPECT_ERROR(-DER_TIMEDOUT, write(store, 3));
    late.disarm();
    EXPECT_EQ(objects(store), 3U);
    expect({1});
    write(store, 4);
    expect({4});
    EXPECT_EQ(objects(store), 1U);
}

// ---- streams

TEST_F(InDoubt, AWriterOfAStreamKnowsItsOwnLease)
{
    const auto write = [&] {
        steps::Writer writer(location, {}, self_communicator());
        writer.begin_step();
        writer.put_string(writer.define("t", steps::Type::string, steps::ShapeKind::global_value), "text");
        writer.end_step();
        writer.close();
    };
    write();
    late.puts = "main"; // the lease
    EXPECT_ERROR(-DER_TIMEDOUT, write());
    late.disarm();
    late.carry_out();
    write();
    steps::Reader reader(location, {}, self_communicator());
    ASSERT_EQ(reader.begin_step(0), steps::StepStatus::ok);
    EXPECT_EQ(reader.get_string(*reader.find("t")), "text");
    // One that is held is not left over.
    steps::Writer writer(location, {}, self_communicator());
    EXPECT_ERROR(-DER_BUSY, write());
    writer.close();
}

// ---- fields

using namespace fields;
using namespace fields::testing;

class FieldsInDoubt : public InDoubt {
protected:
    FieldsInDoubt()
    {
        create_pool(location, "lmdb");
        session = Session::open_own(location, Access::read_write);
    }
    std::shared_ptr<Session> session;
};

TEST_F(FieldsInDoubt, ACopyThatIsNamedLateIsWhole)
{
    const auto from = session->create(dataset_key());
    Fields fields(from);
    fields.archive(collocation_key(), element_key(1), pattern(200'000, 1));
    fields.flush();
    late.puts = root_prefix;
    EXPECT_ERROR(-DER_TIMEDOUT, copy(from, *session, dataset_key("0002")));
    late.disarm();
    EXPECT_TRUE(purge_pool(*session).empty()); // not while this process may still name it
    late.carry_out();
    const auto copied = session->find(dataset_key("0002"));
    ASSERT_TRUE(copied);
    EXPECT_EQ(retrieve(copied, collocation_key(), element_key(1)), pattern(200'000, 1));
}

TEST_F(FieldsInDoubt, ALatePackReplacesNoOtherField)
{
    DatasetOptions options;
    options.pack_below = 500;
    options.pack_size = 1000;
    const auto dataset = session->create(dataset_key(), options);
    Fields fields(dataset);
    fields.archive(collocation_key(), element_key(1), pattern(400, 1));
    fields.archive(collocation_key(), element_key(2), pattern(400, 2));
    late.array_writes = true;
    EXPECT_ERROR(-DER_TIMEDOUT, fields.archive(collocation_key(), element_key(3), pattern(400, 3)));
    late.disarm();
    fields.archive(collocation_key(), element_key(4), pattern(400, 4));
    fields.flush();
    ASSERT_EQ(late.kept.size(), 1U);
    late.carry_out();
    for (const int step : {1, 2, 4})
        EXPECT_EQ(retrieve(dataset, collocation_key(), element_key(step)),
                  pattern(400, static_cast<std::uint64_t>(step)));
    EXPECT_FALSE(retrieve(dataset, collocation_key(), element_key(3)));
}

} // namespace
} // namespace stepstore::testing

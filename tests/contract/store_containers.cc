// What makers of containers leave that died or came late, on every back end.
#include "store/object.h"
#include "store/pool_core.h"
#include "support/store_fixture.h"

#include <array>
#include <thread>

namespace stepstore::testing {
namespace {

class MakersContract : public StoreTest {
protected:
    void SetUp() override
    {
        StoreTest::SetUp();
        for (const Backend& backend : backends())
            if (backend.name == GetParam()) below = backend.open(path);
    }
    void TearDown() override
    {
        below.reset();
        StoreTest::TearDown();
    }
    void mark(unsigned target, std::uint32_t number)
    {
        below->target(target).write([&](WriteTransaction& open) { put_state(open, number, {}); });
    }
    bool is_marked(unsigned target, std::uint32_t number)
    {
        return look_at(below->target(target), [&](ReadTransaction& open) {
            Bytes there;
            return open.get(container_key(number).view(), there);
        });
    }
    static std::size_t interrupted(const CheckReport& report)
    {
        std::size_t found = 0;
        for (const CheckFinding& one : report.findings)
            found += one.what.find("making of a container was interrupted") != std::string::npos ? 1 : 0;
        return found;
    }
    void use(const std::string& label)
    {
        const auto made = pool->open_container(label);
        made->kv_put(kv_object(1, class_sx), as_bytes("key"), pattern(70000, 1));
        EXPECT_EQ(kv_read(*made, kv_object(1, class_sx), as_bytes("key")), pattern(70000, 1));
    }

    std::unique_ptr<Storage> below; // the pool's back end itself
};
INSTANTIATE_TEST_SUITE_P(Backends, MakersContract, every_backend(), backend_name);

TEST_P(MakersContract, TheNextContainerTakesTheNumberOfOneThatWasNeverFinished)
{
    mark(1, 2);
    mark(3, 2);
    const CheckReport report = Pool::check(path, {});
    EXPECT_FALSE(report.damaged());
    EXPECT_EQ(interrupted(report), 2U);
    pool->create_container(uuid_of(2), "next", {});
    EXPECT_TRUE(is_marked(0, 2));
    EXPECT_TRUE(Pool::check(path, {}).findings.empty());
    use("next");
}

TEST_P(MakersContract, ARepairRemovesWhatWasNeverFinishedAndGivesTheNumberToNobody)
{
    mark(1, 2);
    Pool::check(path, {true, true});
    EXPECT_FALSE(is_marked(1, 2));
    EXPECT_TRUE(Pool::check(path, {}).findings.empty());
    pool->create_container(uuid_of(2), "next", {});
    EXPECT_FALSE(is_marked(1, 2));
    EXPECT_TRUE(is_marked(1, 3));
    use("next");
}

TEST_P(MakersContract, ARepairRemovesTheMarkOfALateMaker)
{
    pool->create_container(uuid_of(2), "passing", {});
    pool->destroy_container("passing", false);
    mark(2, 2);
    EXPECT_EQ(interrupted(Pool::check(path, {})), 1U);
    Pool::check(path, {true, true});
    EXPECT_TRUE(Pool::check(path, {}).findings.empty());
    EXPECT_TRUE(is_marked(2, 1));
}

// A maker that read the metadata before another one made and destroyed a container with that number.
TEST_P(MakersContract, ALateMakerDoesNotMarkTheNumberOfADestroyedContainer)
{
    pool->create_container(uuid_of(2), "passing", {});
    pool->destroy_container("passing", false);
    below->meta().write([](WriteTransaction& meta) {
        put_sealed(meta, meta_key(MetaSpace::next).view(), BodyWriter().number(2).view());
    });
    pool->create_container(uuid_of(3), "late", {});
    for (unsigned target = 0; target < 4; ++target) {
        EXPECT_FALSE(is_marked(target, 2)) << target;
        EXPECT_TRUE(is_marked(target, 3)) << target;
    }
    use("late");
}

TEST_P(MakersContract, ManyMakersAndDestroyersLeaveNoMarks)
{
    constexpr std::uint8_t makers = 4, rounds = 6;
    std::vector<std::thread> running;
    for (std::uint8_t maker = 0; maker < makers; ++maker)
        running.emplace_back([&, maker] {
            for (std::uint8_t round = 0; round < rounds; ++round) {
                const std::string label = "of" + std::to_string(maker);
                pool->create_container(uuid_of(static_cast<std::uint8_t>(10 + maker)), label, {});
                use(label);
                pool->destroy_container(label, false);
            }
        });
    for (std::thread& one : running)
        one.join();
    Pool::check(path, {true, true});
    for (const CheckFinding& one : Pool::check(path, {}).findings)
        ADD_FAILURE() << one.where << ": " << one.what;
    EXPECT_EQ(pool->containers().size(), 1U);
}

TEST_P(MakersContract, ARenamedContainerIsFoundByItsNewLabelAlone)
{
    const auto same = [](Bytes record) { return std::vector<std::byte>(record.begin(), record.end()); };
    pool->create_container(uuid_of(2), "old", as_bytes("record"));
    const auto made = pool->open_container("old");
    made->set_properties([](Bytes) { return to_bytes("another"); }, "new");
    EXPECT_EQ(made->properties(), to_bytes("another"));
    EXPECT_EQ(made->query().label, "new");
    EXPECT_EQ(der_of([&] { pool->open_container("old"); }), DER_NONEXIST);
    use("new");
    EXPECT_EQ(der_of([&] { made->set_properties(same, "test"); }), DER_EXIST);
    EXPECT_EQ(der_of([&] { made->set_properties(same, "a/b"); }), DER_INVAL);
    EXPECT_EQ(made->properties(), to_bytes("another"));
    EXPECT_TRUE(Pool::check(path, {}).findings.empty());
    EXPECT_EQ(der_of([&] {
                  Pool::open(path, Access::read_only)->open_container("new")->set_properties(same, "more");
              }),
              DER_NO_PERM);
    pool->destroy_container("new", true);
    EXPECT_EQ(der_of([&] { made->set_properties(same, "more"); }), DER_NONEXIST);
    EXPECT_EQ(der_of([&] { pool->open_container("more"); }), DER_NONEXIST);
}

} // namespace
} // namespace stepstore::testing

// Maintenance killed at any moment, and at the same time as others make what it removes.
#include "fields/fixture.h"
#include "support/processes.h"

#include <atomic>
#include <random>
#include <thread>

namespace stepstore::fields::testing {
namespace {

using stepstore::testing::end_of;
using stepstore::testing::run_in_child;
using stepstore::testing::start_child;

class Crash : public ::testing::Test {
protected:
    Crash() : location(new_pool(directory)) { create_pool(location, default_backend()); }
    ~Crash() override
    {
        Session::release();
        EXPECT_EQ(pool_damage(location), "");
    }
    std::shared_ptr<Session> session() const { return Session::open(location, Access::read_write); }
    std::shared_ptr<Dataset> make(const Key& key = dataset_key()) const { return session()->create(key); }
    void kill_soon(const std::function<int()>& body)
    {
        const pid_t child = start_child(body);
        usleep(static_cast<useconds_t>(random() % 20000));
        kill(child, SIGKILL);
        const int end = end_of(child);
        ASSERT_TRUE(end == -SIGKILL || end == 0) << end; // it may have been fast
        killed += end != 0;
    }

    TemporaryDirectory directory;
    std::string location;
    std::mt19937 random{20261122};
    int killed = 0;
};

TEST_F(Crash, PurgesKilledAtAnyMomentLoseNothingAndLeaveNothing)
{
    constexpr int numbers = 3, steps = 400;
    std::map<std::pair<int, int>, std::uint64_t> model;
    const auto archive_some = [&](std::uint64_t round) {
        Fields fields(make());
        for (int number = 0; number < numbers; ++number)
            for (int step = static_cast<int>(round % 3); step < steps; step += 3) {
                const std::size_t size = step % 50 == 0 ? 150000 : 300;
                fields.archive(collocation_key(number), element_key(step),
                               pattern(size, round << 20 | static_cast<std::uint64_t>(step)));
                model[{number, step}] = round;
            }
        fields.flush();
        Session::release();
    };
    const auto verify = [&] {
        const auto dataset = make();
        EXPECT_EQ(list(dataset).size(), model.size());
        for (const auto& [name, round] : model) {
            const auto& [number, step] = name;
            const std::size_t size = step % 50 == 0 ? 150000 : 300;
            ASSERT_EQ(retrieve(dataset, collocation_key(number), element_key(step)),
                      pattern(size, round << 20 | static_cast<std::uint64_t>(step)));
        }
        Session::release();
    };
    for (std::uint64_t round = 0; round < 30; ++round) {
        archive_some(round);
        kill_soon([&] {
            purge(make());
            return 0;
        });
        if (round % 10 == 9) verify();
    }
    EXPECT_GT(killed, 5);
    const auto dataset = make();
    purge(dataset);
    verify();
    const Statistics statistics = fields::statistics(make());
    EXPECT_EQ(statistics.masked_fields, 0U);
    EXPECT_EQ(statistics.pages, 3U);
    std::set<std::uint64_t> named;
    for (const auto& [name, field] : list(make()))
        named.insert(std::get<FieldLocation>(field.entry.location).object);
    EXPECT_EQ(arrays_in(location, dataset->container_label()), named.size());
}

TEST_F(Crash, WipesKilledAtAnyMomentLeaveAllOrNothing)
{
    for (int round = 0; round < 25; ++round) {
        // By a process that has ended: what a living one has made and not named yet is left alone.
        ASSERT_EQ(run_in_child([&] {
                      Fields fields(make());
                      for (int step = 0; step < 200; ++step)
                          fields.archive(collocation_key(step % 7), element_key(step), pattern(2000, 1));
                      fields.flush();
                      return 0;
                  }),
                  0);
        kill_soon([&] {
            wipe(*session(), dataset_key());
            return 0;
        });
        if (const auto dataset = session()->find(dataset_key())) {
            EXPECT_EQ(list(dataset).size(), 200U);
        }
        Session::release();
    }
    EXPECT_GT(killed, 5);
    wipe(*session(), dataset_key());
    purge_pool(*session());
    Session::release();
    EXPECT_EQ(session()->pool().containers().size(), 1U); // the root's
}

TEST_F(Crash, WipingWhileOthersMakeAndWriteLeavesNothingHalf)
{
    std::vector<pid_t> writers;
    for (int writer = 0; writer < 2; ++writer)
        writers.push_back(start_child([&, writer] {
            int flushed = 0, told = 0;
            for (int round = 0; round < 150; ++round) {
                try {
                    Fields fields(make());
                    fields.archive(collocation_key(writer), element_key(round), pattern(500, 1));
                    fields.flush();
                    ++flushed;
                } catch (const Error& error) {
                    if (error.code() != -DER_STALE) throw;
                    ++told;
                }
            }
            return flushed > 0 ? 0 : 1;
        }));
    const pid_t wiper = start_child([&] {
        for (int round = 0; round < 100; ++round) {
            wipe(*session(), dataset_key());
            usleep(500);
        }
        return 0;
    });
    for (const pid_t child : writers)
        EXPECT_EQ(end_of(child), 0);
    EXPECT_EQ(end_of(wiper), 0);
    if (const auto dataset = session()->find(dataset_key())) {
        for (const auto& [name, field] : list(dataset))
            EXPECT_EQ(StoreReader(dataset).read(std::get<FieldLocation>(field.entry.location)),
                      pattern(500, 1));
    }
    EXPECT_TRUE(purge_pool(*session()).empty());
}

TEST_F(Crash, ThreadsMayDoAllAtOnce)
{
    const auto dataset = make();
    Fields shared(dataset);
    std::atomic<bool> failed = false;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
        threads.emplace_back([&, thread] {
            try {
                for (int step = 0; step < 60; ++step) {
                    const auto data = pattern(800, static_cast<std::uint64_t>(thread * 100 + step));
                    Fields own(dataset);
                    own.archive(collocation_key(step % 3), element_key(step, thread), data);
                    own.flush();
                    shared.store.archive(data);
                    if (retrieve(dataset, collocation_key(step % 3), element_key(step, thread)) != data)
                        failed = true;
                    if (step % 20 == 0) list(dataset);
                }
            } catch (const std::exception& error) {
                std::fprintf(stderr, "%s\n", error.what());
                failed = true;
            }
        });
    for (auto& thread : threads)
        thread.join();
    EXPECT_FALSE(failed);
    EXPECT_EQ(list(dataset).size(), 240U);
}

} // namespace
} // namespace stepstore::fields::testing

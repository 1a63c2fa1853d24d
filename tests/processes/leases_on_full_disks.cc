// A disk is full when a process gives back a lease. The process goes on. Once there is space, others get the
// lease without waiting for its end. On a file system in memory that is really full, so as root only.
#include "client/lease.h"
#include "fields/session.h"
#include "steps/write/writer.h"
#include "support/errors.h"
#include "support/processes.h"
#include "support/small_disk.h"

#include <gtest/gtest.h>

#include <daos_errno.h>

#include <chrono>
#include <csignal>
#include <thread>

namespace stepstore::testing {
namespace {

class FullDiskOfLeases : public ::testing::TestWithParam<std::tuple<std::string, bool>> {
protected:
    void SetUp() override
    {
        if (!disk.usable()) GTEST_SKIP() << "this user cannot mount a file system in memory";
        Pool::create(pool, {.label = {}, .targets = 1, .durability = Durability::process});
    }
    ~FullDiskOfLeases() override { fields::Session::release(); }

    // A process takes what `hold` gives, and lets go of it on a full disk. It ends only after this one.
    template <class Hold>
    void expect_given_back(Hold hold, const std::function<bool()>& another_gets_it)
    {
        int ready[2], go_on[2];
        ASSERT_EQ(pipe(ready), 0);
        ASSERT_EQ(pipe(go_on), 0);
        const pid_t child = start_child([&] {
            close(go_on[1]);
            char byte = 0;
            {
                auto held = hold();
                if (!disk.fill(std::get<1>(GetParam()))) return 2;
                held.let_go();
                if (HasFailure()) return 5;
            }
            if (write(ready[1], &byte, 1) != 1) return 3;
            return read(go_on[0], &byte, 1) == 0 ? 0 : 4; // until this process closes it
        });
        close(ready[1]);
        close(go_on[0]);
        char byte = 0;
        ASSERT_EQ(read(ready[0], &byte, 1), 1);
        disk.free();
        const auto begin = std::chrono::steady_clock::now();
        const auto waited = [&] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        };
        bool got = false;
        while (!got && waited() < 20) {
            got = another_gets_it();
            if (!got) std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        EXPECT_TRUE(got) << "the process that let go of it lives, and keeps it";
        EXPECT_EQ(kill(child, 0), 0);
        close(ready[0]);
        close(go_on[1]);
        EXPECT_EQ(end_of(child), 0);
    }

    const SmallDisk disk;
    const std::string pool = (std::get<0>(GetParam()) == "files" ? "shared:" : "") + disk.path() + "/pool";
};
INSTANTIATE_TEST_SUITE_P(Pools, FullDiskOfLeases,
                         ::testing::Combine(::testing::Values("files", "lmdb"), ::testing::Bool()),
                         [](const auto& info) {
                             return std::get<0>(info.param) + (std::get<1>(info.param) ? "AndNoInode" : "");
                         });

TEST_P(FullDiskOfLeases, AWriterOfStepsThatFailedKeepsNobodyFromTheStream)
{
    steps::WriterOptions options;
    struct Holder {
        steps::Writer writer;
        void let_go()
        {
            constexpr std::uint64_t count = 100'000;
            const std::vector<double> values(count);
            EXPECT_EQ(
                code_of([&] {
                    writer.begin_step();
                    const auto id = writer.define("x", steps::Type::float64, steps::ShapeKind::global_array);
                    writer.put(id, steps::Dims{count}, steps::Dims{0}, steps::Dims{count}, values.data());
                    writer.end_step();
                }),
                -DER_NOSPACE);
            // Where free pages of an index are left, it has space to close.
            const int code = code_of([&] { writer.close(); });
            EXPECT_TRUE(code == 0 || code == -DER_NOSPACE) << code;
        }
    };
    expect_given_back([&] { return Holder{steps::Writer(pool, options, self_communicator())}; },
                      [&] {
                          const Error error = error_of([&] {
                              steps::Writer next(pool, options, self_communicator());
                              next.begin_step();
                              next.end_step();
                              next.close();
                          });
                          EXPECT_TRUE(error.code() == 0 || error.code() == -DER_BUSY) << error.what();
                          return error.code() == 0;
                      });
}

TEST_P(FullDiskOfLeases, AClaimOfAContainerKeepsNobodyFromIt)
{
    struct Holder {
        std::optional<Lease> lease;
        void let_go() { lease.reset(); }
    };
    const auto take = [&] {
        std::optional<Lease> lease = fields::Session::open_own(pool, Access::read_write)->claim("dataset");
        if (lease->take()) lease.reset();
        return lease;
    };
    ASSERT_EQ(run_in_child([&] { return take() ? 0 : 1; }), 0); // makes the container of the claims
    expect_given_back([&] { return Holder{take()}; }, [&] { return take().has_value(); });
}

} // namespace
} // namespace stepstore::testing

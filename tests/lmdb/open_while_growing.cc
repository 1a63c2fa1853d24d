// Processes that open a pool while another one makes its maps larger: every opening works.
#include "store/store.h"
#include "support/temporary.h"

#include <gtest/gtest.h>

#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

namespace stepstore::store {
namespace {

constexpr int openers = 3;

// Puts 160 MiB into one index (the properties of containers), which begins with a map of 64 MiB.
void grow(const std::string& path)
{
    const auto container = Pool::open(path, Access::read_write)->open_container("c");
    const std::vector<std::byte> value(32 << 10, std::byte{7});
    const auto pool = container->pool();
    for (int n = 0; n < 5120; ++n)
        (void)pool->create_container(Uuid{static_cast<std::uint8_t>(n), static_cast<std::uint8_t>(n >> 8), 1},
                                     "", value);
}

TEST(OpenWhileGrowing, EveryOpeningWorks)
{
    testing::TemporaryDirectory directory;
    const std::string path = directory / "pool";
    Pool::create(path, {})->create_container(Uuid{9}, "c", {});
    int stop[2];
    ASSERT_EQ(pipe(stop), 0);
    std::vector<pid_t> children;
    for (int opener = 0; opener < openers; ++opener) {
        const pid_t child = fork();
        if (child == 0) {
            close(stop[1]);
            int failures = 0;
            // The writer's death closes the pipe, which ends us.
            const auto ended = [&] {
                fd_set set;
                FD_ZERO(&set);
                FD_SET(stop[0], &set);
                timeval none{};
                return select(stop[0] + 1, &set, nullptr, nullptr, &none) > 0;
            };
            while (!ended()) {
                try {
                    if (Pool::open(path, Access::read_write)->open_container("c")->query().label != "c")
                        ++failures;
                } catch (const std::exception& error) {
                    std::fprintf(stderr, "%s\n", error.what());
                    ++failures;
                }
            }
            _exit(failures == 0 ? 0 : 1);
        }
        children.push_back(child);
    }
    close(stop[0]);
    EXPECT_NO_THROW(grow(path));
    close(stop[1]);
    for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
            << "an opener ended with status " << status;
    }
}

} // namespace
} // namespace stepstore::store

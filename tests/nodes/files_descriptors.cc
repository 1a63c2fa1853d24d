// A process with many containers of pools in files open keeps few of their arrays open. So it does not run
// out of descriptors.
#include "support/processes.h"
#include "support/store_fixture.h"

#include <sys/resource.h>

namespace stepstore::testing {
namespace {

TEST(DescriptorsOfFiles, SufficeForManyContainers)
{
    const TemporaryDirectory directory;
    const std::string path = directory / "pool";
    const auto use = [&] {
        rlimit files{};
        getrlimit(RLIMIT_NOFILE, &files);
        files.rlim_cur = 100;
        setrlimit(RLIMIT_NOFILE, &files);
        PoolOptions options;
        options.backend = "files";
        const auto pool = Pool::create(path, options);
        std::vector<std::shared_ptr<Container>> open;
        const ArrayAttributes attributes{1, 4096};
        for (std::uint8_t number = 1; number <= 10; ++number) {
            const std::string label = "box" + std::to_string(number);
            pool->create_container(uuid_of(number), label, {});
            open.push_back(pool->open_container(label));
        }
        const std::string text = "content";
        const Range range{0, text.size()};
        for (unsigned array = 0; array < 30; ++array)
            for (const auto& container : open) {
                const Bytes memory = as_bytes(text);
                container->array_create(array_object(array), attributes);
                container->array_write(array_object(array), attributes, {&range, 1}, {&memory, 1});
            }
        for (unsigned array = 0; array < 30; ++array)
            for (const auto& container : open) {
                std::string read(text.size(), ' ');
                const MutableBytes memory = std::as_writable_bytes(std::span(read));
                container->array_read(array_object(array), attributes, {&range, 1}, {&memory, 1});
                EXPECT_EQ(read, text);
            }
        return ::testing::Test::HasFailure() ? 1 : 0;
    };
    EXPECT_EQ(run_in_child(use), 0);
}

} // namespace
} // namespace stepstore::testing

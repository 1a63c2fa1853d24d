// The array through Stepstore's arrays. Where the pool is made for it, it begins with no space, like a file.
#include "subject.h"

#include "stepstore/arrays.h"

#include <filesystem>
#include <stdexcept>

namespace stepstore::bench {
namespace {

void check(int code, const char* call)
{
    if (code != 0) throw std::runtime_error(std::string(call) + ": " + stepstore_arrays_message());
}

std::vector<std::int64_t> integers(const std::vector<std::uint64_t>& numbers)
{
    return {numbers.begin(), numbers.end()};
}

class Arrays final : public Subject {
public:
    Arrays(std::string location, bool keeps_pool) : location_(std::move(location)), keeps_pool_(keeps_pool) {}
    const char* name() const override { return "arrays"; }

    void write(const Block& block, const std::vector<double>& memory) override
    {
        in_store(STEPSTORE_WRITE, [&](stepstore_arrays store) {
            const auto shape = integers(block.shape), start = integers(block.start),
                       count = integers(block.count);
            check(stepstore_write_array(store, "array", STEPSTORE_REAL64, static_cast<int>(shape.size()),
                                        shape.data(), start.data(), count.data(), memory.data(), nullptr,
                                        nullptr, nullptr),
                  "stepstore_write_array");
        });
    }

    void read(const Block& block, std::vector<double>& memory) override
    {
        in_store(STEPSTORE_READ, [&](stepstore_arrays store) {
            const auto start = integers(block.start), count = integers(block.count);
            check(stepstore_read_array(store, "array", STEPSTORE_REAL64, static_cast<int>(start.size()),
                                       nullptr, start.data(), count.data(), memory.data(), nullptr, nullptr),
                  "stepstore_read_array");
        });
    }

    void remove() override
    {
        if (keeps_pool_)
            in_store(STEPSTORE_WRITE, [](stepstore_arrays store) {
                check(stepstore_array_remove(store, "array"), "stepstore_array_remove");
            });
        else if (my_rank() == 0)
            std::filesystem::remove_all(location_);
        MPI_Barrier(MPI_COMM_WORLD);
    }

private:
    template <typename Call>
    void in_store(int mode, Call call)
    {
        const MPI_Comm world = MPI_COMM_WORLD;
        stepstore_arrays store = 0;
        check(stepstore_arrays_open(location_.c_str(), mode, &world, nullptr, &store),
              "stepstore_arrays_open");
        call(store);
        check(stepstore_arrays_close(&store), "stepstore_arrays_close");
    }

    std::string location_;
    bool keeps_pool_;
};

} // namespace

std::unique_ptr<Subject> make_arrays(const std::string& directory, bool keeps_pool)
{
    return std::make_unique<Arrays>(directory + "/pool", keeps_pool);
}

} // namespace stepstore::bench

#include "steps/layouts/size_exchange.h"

#include "steps/metadata/rank_metadata.h"
#include "stepstore/client.h"

#include <daos_errno.h>

#include <algorithm>

namespace stepstore::steps {

namespace {

constexpr std::uint64_t failed_size = UINT64_MAX;       // of a rank that gives up this step
constexpr std::uint64_t finished_size = UINT64_MAX - 1; // of one that writes no more
constexpr std::uint64_t stored_size = 0;                // in meet()

bool all_wrote(const std::vector<std::uint64_t>& sizes)
{
    return std::ranges::all_of(sizes, [](std::uint64_t size) { return size < finished_size; });
}

void require_all_wrote(const std::vector<std::uint64_t>& sizes, std::uint64_t step)
{
    for (std::size_t rank = 0; rank < sizes.size(); ++rank)
        if (sizes[rank] >= finished_size)
            throw Error(-DER_CANCELED,
                        step_rank(step, static_cast<std::uint32_t>(rank)) + ": this rank " +
                            (sizes[rank] == failed_size
                                 ? "failed"
                                 : "can store no further step, because an earlier one failed") +
                            ", so no rank stores this step; the steps before it are kept");
}

bool all_finished(const std::vector<std::uint64_t>& sizes)
{
    return std::ranges::all_of(sizes, [](std::uint64_t size) { return size == finished_size; });
}

} // namespace

std::vector<std::uint64_t> SizeExchange::exchange(std::uint64_t step, std::uint64_t mine)
{
    std::vector<std::uint64_t> sizes = communicator_.allgather(mine);
    require_all_wrote(sizes, step);
    return sizes;
}

void SizeExchange::meet(std::uint64_t step, FunctionRef<void()> work)
{
    std::exception_ptr failure;
    const auto words = communicator_.allgather_after(stored_size, [&](const std::vector<std::uint64_t>& all) {
        if (!all_wrote(all)) return stored_size;
        try {
            work();
            return stored_size;
        } catch (...) {
            failure = std::current_exception();
            return failed_size;
        }
    });
    if (failure != nullptr) std::rethrow_exception(failure);
    require_all_wrote(words, step);
}

void SizeExchange::fail()
{
    communicator_.allgather(failed_size);
}

void SizeExchange::finish()
{
    while (!all_finished(communicator_.allgather(finished_size)))
        ;
}

} // namespace stepstore::steps

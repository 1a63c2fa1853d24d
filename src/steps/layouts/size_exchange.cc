#include "steps/layouts/size_exchange.h"

#include "steps/codec/blob.h"
#include "stepstore/client.h"

#include <daos_errno.h>

#include <algorithm>

namespace stepstore::steps {

namespace {

constexpr std::uint64_t failed_size = UINT64_MAX;       // of a rank that gives up this step
constexpr std::uint64_t finished_size = UINT64_MAX - 1; // of one that writes no more

} // namespace

std::vector<std::uint64_t> SizeExchange::exchange(std::uint64_t step, std::uint64_t mine)
{
    std::vector<std::uint64_t> sizes = communicator_.allgather(mine);
    for (std::size_t rank = 0; rank < sizes.size(); ++rank)
        if (sizes[rank] >= finished_size)
            throw Error(-DER_CANCELED,
                        step_rank(step, static_cast<std::uint32_t>(rank)) + ": this rank " +
                            (sizes[rank] == failed_size
                                 ? "failed"
                                 : "can store no further step, because an earlier one failed") +
                            ", so no rank stores this step; the steps before it are kept");
    return sizes;
}

void SizeExchange::fail()
{
    communicator_.allgather(failed_size);
}

void SizeExchange::finish()
{
    while (std::ranges::any_of(communicator_.allgather(finished_size),
                               [](std::uint64_t size) { return size != finished_size; }))
        ;
}

} // namespace stepstore::steps

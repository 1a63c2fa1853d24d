#include "steps/layouts/hand_over.h"

#include "comm/collective.h"
#include "steps/metadata/rank_metadata.h"
#include "stepstore/error.h"

#include <daos_errno.h>

#include <algorithm>
#include <array>
#include <utility>

namespace stepstore::steps {

namespace {

// In the place of metadata: this rank writes no more. Nothing: it gives the step up.
constexpr std::array finished{std::byte{1}};

constexpr auto no_work = [](const HandedOver&) {};

} // namespace

void HandOver::store(std::uint64_t step, Bytes mine, Work work)
{
    const Outcome outcome = exchange(step, mine, work);
    if (failed_ != nullptr) std::rethrow_exception(std::exchange(failed_, nullptr));
    if (outcome.kind != Outcome::stored) throw Error(-DER_CANCELED, outcome.why);
}

void HandOver::abandon(std::uint64_t step)
{
    exchange(step, {}, no_work);
}

void HandOver::finish()
{
    while (exchange(no_step, finished, no_work).kind != Outcome::all_finished)
        ;
}

HandOver::Outcome HandOver::exchange(std::uint64_t step, Bytes mine, Work work)
{
    communicator_.gather_row(mine, all_.bytes, all_.offsets, row_);
    Outcome outcome;
    if (is_first()) outcome = settle(step, work);
    const Bytes why = as_bytes(outcome.why);
    std::vector<std::byte> message(why.begin(), why.end());
    message.push_back(static_cast<std::byte>(outcome.kind));
    communicator_.broadcast_row(message, row_);
    outcome.kind = static_cast<Outcome::Kind>(message.back());
    outcome.why = as_text(Bytes(message).first(message.size() - 1));
    return outcome;
}

HandOver::Outcome HandOver::settle(std::uint64_t step, Work work)
{
    std::size_t done = 0, without = all_.ranks();
    for (std::size_t i = all_.ranks(); i-- > 0;) {
        if (all_.size(i) > finished.size()) continue;
        without = i;
        done += all_.size(i) == finished.size() ? 1 : 0;
    }
    if (done == all_.ranks()) return {Outcome::all_finished, {}};
    if (without < all_.ranks()) return {Outcome::given_up, given_up_because(without, step)};
    try {
        work(all_);
        return {Outcome::stored, {}};
    } catch (...) {
        failed_ = std::current_exception();
        return {Outcome::given_up, "rank " + std::to_string(row_.first) + " could not store step " +
                                       std::to_string(step) + ": " + failure_of(failed_).message +
                                       "; the steps before it are kept"};
    }
}

std::string HandOver::given_up_because(std::size_t without, std::uint64_t step) const
{
    const bool all = row_.count == communicator_.size();
    const std::string those = all ? "no rank stores"
                                  : "none of the ranks " + std::to_string(row_.first) + " to " +
                                        std::to_string(row_.first + row_.count - 1) + " stores";
    return "rank " + std::to_string(row_.first + static_cast<int>(without)) +
           " failed, in this step or before" +
           (step == no_step ? std::string() : ", so " + those + " step " + std::to_string(step)) +
           "; the steps before it are kept";
}

} // namespace stepstore::steps

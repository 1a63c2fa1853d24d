#include "arrays/group.h"

#include "base/wire.h"
#include "comm/collective.h"

#include <daos_errno.h>

namespace stepstore::arrays {

namespace {

using Clock = std::chrono::steady_clock;

// Rank 0 waits for the others' words, the others for its answer: so it is the first to give up.
constexpr std::chrono::seconds later_than_root{5};
// What a rank sent before it died may still be under way.
constexpr std::chrono::milliseconds under_way{500};

std::string seconds_text(double seconds)
{
    std::string text = std::to_string(seconds);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text + " s";
}

// What a rank says of itself, or rank 0 to all.
std::vector<std::byte> encode(std::string_view call, const Failure& failure, Bytes payload)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    to.text(call);
    to.fixed(static_cast<std::uint32_t>(failure.code));
    to.text(failure.message);
    to.bytes(payload);
    return bytes;
}

struct Said {
    std::string_view call;
    int code = 0;
    std::string_view message;
    Bytes payload;
};

Said decode(Bytes bytes)
{
    WireReader from(bytes, "another rank's message");
    Said said;
    said.call = from.text();
    said.code = static_cast<int>(from.fixed<std::uint32_t>());
    said.message = from.text();
    said.payload = from.bytes(from.left());
    return said;
}

void require_same_call(std::span<const Said> said)
{
    for (std::size_t rank = 1; rank < said.size(); ++rank)
        if (said[rank].call != said[0].call)
            throw Error(-DER_MISMATCH, "rank 0 calls " + std::string(said[0].call) + " and rank " +
                                           std::to_string(rank) + " calls " + std::string(said[rank].call) +
                                           ": all ranks make the same calls in the same order");
}

} // namespace

Group::Group(std::shared_ptr<Communicator> communicator, double timeout_seconds)
    : communicator_(std::move(communicator)), timeout_(timeout_seconds)
{
    if (size() == 1) return;
    in_sight_.emplace(*communicator_);
    communicator_->watch([this] { look(); });
}

Group::~Group()
{
    leave("a rank let go of the location without closing it together with the others");
    communicator_->watch({});
}

void Group::leave(const std::string& why) noexcept
{
    if (left_ || size() == 1 || !in_sight_) return;
    left_ = true;
    communicator_->leave("rank " + std::to_string(rank()) + ": " + why);
}

// Called from time to time while this rank waits.
void Group::look()
{
    const auto now = Clock::now();
    if (const RanksInSight::Rank* dead = in_sight_->dead()) {
        if (!seen_dead_) seen_dead_ = now;
        if (now - *seen_dead_ >= under_way)
            throw Error(-DER_CANCELED, "rank " + std::to_string(dead->rank) + " (" + dead->process.text() +
                                           ") ended while rank " + std::to_string(rank()) + " waits in " +
                                           call_ + ": the call was given up, nothing was published");
    }
    if (now < until_) return;
    const std::string why = "rank " + std::to_string(rank()) + " waited " + seconds_text(timeout_) +
                            " (timeout_seconds) in " + call_ +
                            " for a rank that does not make this call: all ranks make the same calls";
    communicator_->leave(why);
    left_ = true;
    throw Error(-DER_TIMEDOUT, why);
}

std::vector<std::byte> Group::answer_of(const std::string& call, Bytes said,
                                        std::span<const std::uint64_t> offsets, Answer answer)
{
    Failure failure;
    std::vector<std::byte> payload;
    bool same = false;
    try {
        std::vector<Said> all;
        for (std::size_t rank = 0; rank + 1 < offsets.size(); ++rank)
            all.push_back(decode(said.subspan(offsets[rank], offsets[rank + 1] - offsets[rank])));
        require_same_call(all);
        same = true;
        std::vector<Bytes> arguments;
        for (std::size_t rank = 0; rank < all.size(); ++rank) {
            if (all[rank].code != 0)
                throw Error(all[rank].code, (size() > 1 ? "rank " + std::to_string(rank) + ": " : "") +
                                                std::string(all[rank].message));
            arguments.push_back(all[rank].payload);
        }
        payload = answer(arguments);
    } catch (...) {
        failure = failure_of(std::current_exception());
        if (same) failure.message.insert(0, call + ": ");
    }
    return encode(call, failure, payload);
}

std::vector<std::byte> Group::meet(const std::string& call, Bytes arguments, const std::exception_ptr& fault,
                                   Answer answer, double allowance)
{
    if (left_)
        throw Error(-DER_CANCELED,
                    call + ": the ranks of this location have lost each other: close it, and open it again");
    call_ = call;
    until_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(std::min(timeout_ + allowance, 1e8)));
    if (rank() != 0) until_ += later_than_root;
    std::vector<std::byte> said;
    std::vector<std::byte> message;
    std::vector<std::uint64_t> offsets;
    try {
        communicator_->gather(encode(call, failure_of(fault), arguments), said, offsets, 0);
        if (rank() == 0) message = answer_of(call, said, offsets, answer);
        communicator_->broadcast(message, 0);
    } catch (...) {
        left_ = true; // the communicator is of no use any more
        throw;
    }
    const Said told = decode(message);
    if (told.code != 0) throw Error(told.code, std::string(told.message));
    return {told.payload.begin(), told.payload.end()};
}

} // namespace stepstore::arrays

#include "steps/write/group_watch.h"

#include "base/wire.h"

#include <daos_errno.h>

namespace stepstore::steps {

namespace {

// With many ranks each looks less often. Else their looks alone would keep the metadata server of a file
// system busy: at 100 ms each, those of 1,000 ranks.
constexpr std::chrono::microseconds between_looks{100'000}, between_looks_of_a_rank{333};
// How long to wait for what a rank sent before it left: it may still be under way, by other ranks.
constexpr std::chrono::milliseconds under_way{500};
constexpr std::uint64_t at_close = UINT64_MAX;

} // namespace

GroupWatch::GroupWatch(Communicator& communicator)
    : communicator_(communicator), in_sight_(communicator), looked_(SteadyClock::now()),
      between_looks_(std::max(between_looks, communicator.size() * between_looks_of_a_rank)),
      next_to_look_at_(in_sight_.first_to_look_at())
{
    communicator.watch([this] { look_while_waiting(); });
}

GroupWatch::~GroupWatch()
{
    communicator_.watch({});
}

// A look that fails tells nothing: who writes or reads what cannot be reached gets an error of its own.
void GroupWatch::read_on()
{
    looked_ = SteadyClock::now();
    if (!log_) return;
    try {
        while (const auto entry = log_->read_next()) {
            WireReader from(*entry, "the record of a lost rank");
            Loss loss;
            loss.rank = from.fixed<std::uint32_t>();
            loss.step = from.fixed<std::uint64_t>();
            loss.left = from.fixed<std::uint8_t>() != 0;
            loss.text = from.text();
            losses_.push_back(std::move(loss));
        }
    } catch (const Error&) {
    }
}

void GroupWatch::put(const Loss& loss) noexcept
{
    if (!log_) return;
    try {
        std::vector<std::byte> bytes;
        WireWriter to(bytes);
        to.fixed(loss.rank);
        to.fixed(loss.step);
        to.fixed(static_cast<std::uint8_t>(loss.left ? 1 : 0));
        to.text(loss.text);
        for (std::uint64_t number = log_->next(); !log_->put(number, bytes);)
            ++number;
    } catch (...) { // a full disk: the others are told without the reason, or find the process gone
    }
}

const GroupWatch::Loss* GroupWatch::loss_in(std::uint64_t step, bool left_only) const
{
    for (const Loss& loss : losses_)
        if (loss.step <= step && (loss.left || !left_only)) return &loss;
    return nullptr;
}

void GroupWatch::look_for_the_dead(const RanksInSight::Rank& one)
{
    if (life_of(one.process) != Life::dead) return;
    read_on(); // it may have left before it ended
    for (const Loss& loss : losses_)
        if (loss.rank == one.rank && loss.left) return;
    losses_.push_back({one.rank, 0, true,
                       "rank " + std::to_string(one.rank) + " (" + one.process.text() +
                           ") died: the steps that all ranks have ended are kept"});
    put(losses_.back());
}

void GroupWatch::look_while_waiting()
{
    read_on();
    for (const RanksInSight::Rank& one : in_sight_.others()) {
        if (loss_in(step_, true) != nullptr) break;
        look_for_the_dead(one);
    }
    const Loss* loss = loss_in(step_, true);
    if (loss == nullptr) return;
    if (!lost_) lost_ = SteadyClock::now();
    if (SteadyClock::now() - *lost_ >= under_way) throw Error(-DER_CANCELED, loss->text);
}

void GroupWatch::look(std::uint64_t step)
{
    step_ = step;
    if (SteadyClock::now() - looked_ >= between_looks_) {
        read_on();
        const auto& others = in_sight_.others();
        if (!others.empty()) look_for_the_dead(others[next_to_look_at_++ % others.size()]);
    }
    if (const Loss* loss = loss_in(step, false)) throw Error(-DER_CANCELED, loss->text);
}

void GroupWatch::look_at_close()
{
    step_ = at_close;
    read_on();
    if (const Loss* loss = loss_in(at_close, true)) throw Error(-DER_CANCELED, loss->text);
}

std::string GroupWatch::reason(std::uint64_t step)
{
    read_on();
    const Loss* loss = loss_in(step, false);
    return loss == nullptr ? std::string() : loss->text;
}

void GroupWatch::give_up(std::uint64_t step, const std::string& why) noexcept
{
    if (loss_in(step, false) != nullptr) return; // because another one did
    const auto rank = static_cast<std::uint32_t>(communicator_.rank());
    put({rank, step, false,
         "rank " + std::to_string(rank) + " failed in step " + std::to_string(step) + ": " + why});
}

void GroupWatch::leave(std::uint64_t step) noexcept
{
    const auto rank = static_cast<std::uint32_t>(communicator_.rank());
    put({rank, step, true,
         "rank " + std::to_string(rank) + " left the stream before it ended step " + std::to_string(step) +
             ": its writer was destroyed without Close, perhaps by an exception in the program; the steps "
             "that all ranks have ended are kept"});
}

} // namespace stepstore::steps

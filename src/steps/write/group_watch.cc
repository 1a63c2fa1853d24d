#include "steps/write/group_watch.h"

#include "base/record.h"

#include <daos_errno.h>
#include <unistd.h>

namespace stepstore::steps {

namespace {

constexpr std::chrono::milliseconds between_looks{100};
// What a rank sent before it left may still be under way to this one, by other ranks: so long it is waited
// for.
constexpr std::chrono::milliseconds under_way{500};
constexpr std::uint64_t at_close = UINT64_MAX;

std::vector<std::byte> encode(const ProcessIdentity& process)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    write_process(to, process);
    return bytes;
}

} // namespace

GroupWatch::GroupWatch(Communicator& communicator) : communicator_(communicator)
{
    std::vector<std::byte> all;
    std::vector<std::uint64_t> offsets;
    communicator.gather(encode(this_process()), all, offsets, 0);
    communicator.broadcast(all, 0);
    keep_those_in_sight(all);
    looked_ = SteadyClock::now();
    communicator.watch([this] { look_while_waiting(); });
}

// The list has an entry of every rank on every rank, so it is not kept. Processes of other machines cannot be
// seen from here: there the launcher of the job has to end it. A rank of this very process lives.
void GroupWatch::keep_those_in_sight(Bytes all)
{
    const ProcessIdentity mine = this_process();
    process_ = mine.process;
    WireReader from(all, "the list of the writer's processes");
    for (std::uint32_t rank = 0; !from.at_end(); ++rank) {
        const auto process = from.fixed<std::uint64_t>();
        const auto started = from.fixed<std::uint64_t>();
        const std::string_view host = from.text();
        const std::string_view machine = from.text();
        if (machine != mine.machine || (process == mine.process && started == mine.started)) continue;
        in_sight_.push_back({rank, {std::string(host), std::string(machine), process, started}});
        if (rank < static_cast<std::uint32_t>(communicator_.rank())) next_to_look_at_ = in_sight_.size();
    }
}

GroupWatch::~GroupWatch()
{
    communicator_.watch({});
}

bool GroupWatch::mine() const
{
    return process_ == static_cast<std::uint64_t>(::getpid());
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
    if (!log_ || !mine()) return;
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

void GroupWatch::look_for_the_dead(const Neighbour& one)
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
    for (auto one = in_sight_.begin(); one != in_sight_.end() && loss_in(step_, true) == nullptr; ++one)
        look_for_the_dead(*one);
    const Loss* loss = loss_in(step_, true);
    if (loss == nullptr) return;
    if (!lost_) lost_ = SteadyClock::now();
    if (SteadyClock::now() - *lost_ >= under_way) throw Error(-DER_CANCELED, loss->text);
}

void GroupWatch::look(std::uint64_t step)
{
    step_ = step;
    if (SteadyClock::now() - looked_ >= between_looks) {
        read_on();
        if (!in_sight_.empty()) look_for_the_dead(in_sight_[next_to_look_at_++ % in_sight_.size()]);
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

// Leases: records, their holders, and the signs of life of those who hold them.
#include "client/lease.h"

#include "base/interrupt.h"
#include "base/record.h"
#include "client/let_go.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

namespace stepstore {

namespace {

constexpr std::uint32_t lease_magic = 0x454c5353; // "SSLE"
constexpr std::uint32_t lease_version = 1;
constexpr double signs_per_timeout = 3;
constexpr std::uint64_t longest_interval_ms = 1'000'000'000; // who waits for a sign waits three of them
constexpr std::chrono::milliseconds look_interval{50};

std::uint64_t now_ms()
{
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                          std::chrono::system_clock::now().time_since_epoch())
                                          .count());
}

std::uint64_t new_token()
{
    std::random_device device;
    return std::uint64_t{device()} << 32 | device();
}

} // namespace

std::vector<std::byte> encode_lease(const LeaseRecord& record)
{
    std::vector<std::byte> bytes(frame_size_of<std::uint32_t>);
    WireWriter to(bytes);
    to.fixed(record.token);
    to.fixed(record.puts);
    to.fixed(static_cast<std::uint8_t>(record.over ? 1 : 0));
    to.fixed(record.interval_ms);
    to.fixed(record.sign_ms);
    write_process(to, record.holder);
    to.bytes(record.note);
    seal_frame(bytes, lease_magic, lease_version);
    return bytes;
}

LeaseRecord decode_lease(Bytes bytes)
{
    try {
        const std::string what = "the record of a lease";
        WireReader from(unseal_frame(bytes, lease_magic, lease_version, what).body, what);
        LeaseRecord record;
        record.token = from.fixed<std::uint64_t>();
        record.puts = from.fixed<std::uint64_t>();
        record.over = from.fixed<std::uint8_t>() != 0;
        record.interval_ms = from.fixed<std::uint64_t>();
        record.sign_ms = from.fixed<std::uint64_t>();
        record.holder = read_process(from);
        const Bytes note = from.bytes(from.left());
        record.note.assign(note.begin(), note.end());
        if (record.interval_ms > longest_interval_ms) from.fail("has an impossible interval");
        return record;
    } catch (const Error&) {
        LeaseRecord unknown;
        unknown.damaged = true;
        unknown.holder.host = "an unknown host (the record of its lease is damaged, or of another version)";
        return unknown;
    }
}

LeaseState state_of(const LeaseRecord& record)
{
    if (record.over) return LeaseState::free;
    switch (life_of(record.holder)) {
    case Life::dead: return LeaseState::free;
    case Life::elsewhere: return LeaseState::held_elsewhere;
    case Life::alive: break;
    }
    if (record.holder != this_process()) return LeaseState::held;
    return is_let_go(record.token) ? LeaseState::free : LeaseState::held_here;
}

struct Lease::State {
    State(KeyValue object, std::string key, double timeout_seconds, AtEnd at_end)
        : object(std::move(object)), key(std::move(key)), timeout(timeout_seconds), at_end(at_end)
    {
        mine.token = new_token();
        mine.holder = this_process();
        if (std::isfinite(timeout))
            mine.interval_ms = static_cast<std::uint64_t>(std::ceil(timeout * 1000 / signs_per_timeout));
    }
    ~State()
    {
        if (may_be_there) let_go_of(mine.token);
    }

    // ---- with `mutex`
    std::optional<Seen> look()
    {
        seen = object.get_nonempty(key);
        if (!seen) return std::nullopt;
        Seen found{decode_lease(*seen), {}};
        found.state = found.record.token == mine.token ? LeaseState::free : state_of(found.record);
        if (found.record.damaged && timeout == never) found.state = LeaseState::free;
        return found;
    }
    std::vector<std::byte> next_record(Bytes note, bool over)
    {
        ++mine.puts;
        mine.over = over;
        mine.sign_ms = now_ms();
        mine.note.assign(note.begin(), note.end());
        return encode_lease(mine);
    }
    bool take_as_seen(Bytes note)
    {
        const auto begin = SteadyClock::now();
        auto bytes = next_record(note, false);
        const bool in_doubt_before = std::exchange(may_be_there, true);
        if (!object.put_if(key, seen ? std::optional<Bytes>(*seen) : std::nullopt, bytes)) {
            may_be_there = in_doubt_before;
            return false;
        }
        said = std::move(bytes);
        held = true;
        is_lost = false;
        last_sign = begin.time_since_epoch().count();
        if (mine.interval_ms > 0 && !signs.joinable())
            signs = std::jthread([this](const std::stop_token& stop) { give_signs(stop); });
        return true;
    }
    bool put_or_remove(Bytes expected, const std::vector<std::byte>* record)
    {
        return record ? object.put_if(key, expected, *record) : object.remove_if(key, expected);
    }
    // nullptr: removes it. False: it is another's.
    bool change(const std::vector<std::byte>* record)
    {
        if (!held || is_lost) return false;
        const auto begin = SteadyClock::now();
        if (!put_or_remove(said, record)) {
            // Of a put that got no answer nobody knew whether it would be carried out.
            const auto there = object.get_nonempty(key);
            if (!there || decode_lease(*there).token != mine.token || !put_or_remove(*there, record)) {
                is_lost = true;
                may_be_there = false;
                return false;
            }
        }
        last_sign = begin.time_since_epoch().count();
        if (record)
            said = *record;
        else
            may_be_there = held = false;
        return true;
    }
    bool say(Bytes note, bool over)
    {
        const auto record = next_record(note, over);
        return change(&record);
    }
    // Whether the record, as it was seen, counts as one of a dead process, or has changed in the meantime.
    // False: its holder lives.
    bool is_silent(const LeaseRecord& record) const
    {
        if (timeout <= 0 || timeout == never) return timeout <= 0;
        // Its clock may be another: what looks fresh is not taken, what looks old is watched.
        const std::uint64_t now = now_ms();
        const std::uint64_t age = std::max(now, record.sign_ms) - std::min(now, record.sign_ms);
        if (record.interval_ms > 0 && age / 2 < record.interval_ms) return false;
        const double patience =
            std::max(timeout, signs_per_timeout * static_cast<double>(record.interval_ms) / 1000);
        const auto begin = SteadyClock::now();
        while (std::chrono::duration<double>(SteadyClock::now() - begin).count() < patience) {
            stop_if_asked("the lease that " + record.holder.text() + " has");
            sleep_for(look_interval);
            const auto current = object.get_nonempty(key);
            if (current == seen) continue;
            return !current || state_of(decode_lease(*current)) == LeaseState::free;
        }
        return true;
    }

    // ---- without
    void give_signs(const std::stop_token& stop)
    {
        const std::chrono::milliseconds interval(mine.interval_ms);
        std::unique_lock lock(mutex);
        while (!stopped.wait_for(lock, stop, interval, [&] { return stop.stop_requested(); })) {
            try {
                say(std::vector(mine.note), false); // nothing while it is lost: it may be taken again
            } catch (const Error& error) {
                if (error.code() == -DER_NONEXIST) is_lost = true; // with its container
                // Anything else (a full disk) may be over by the next sign.
            }
        }
    }
    void stop_signs() noexcept
    {
        std::jthread ending; // of OwnState::lease; waited for without the mutex
        const std::lock_guard lock(mutex);
        ending.swap(signs);
    }
    void give_back() noexcept
    {
        stop_signs();
        const std::lock_guard lock(mutex);
        try {
            if (say(std::vector(mine.note), true)) may_be_there = held = false;
        } catch (const Error& error) {
            held = false;
            // Nothing was done, and may be done later. Else it ends with this process, which knows that it
            // has let go of it.
            if (error.code() == -DER_NOSPACE || error.code() == -DER_BUSY) {
                let_go_of(mine.token);
                end_later(object, {key, mine.token, at_end == AtEnd::remove_record});
            }
        } catch (...) { // no memory
            held = false;
        }
    }

    KeyValue object;
    const std::string key;
    const double timeout;
    const AtEnd at_end;
    std::mutex mutex; // of OwnState::lease: guards what follows, and is held in calls
    LeaseRecord mine;
    std::optional<std::vector<std::byte>> seen; // at the last look
    std::vector<std::byte> said;                // the record as this process put it last
    bool held = false;
    bool may_be_there = false;
    std::atomic<bool> is_lost = false;
    std::atomic<SteadyClock::rep> last_sign = 0; // when the last put of the record that was done began
    std::condition_variable_any stopped;         // of OwnState::lease, and so is the thread
    std::jthread signs;
};

Lease::Lease(KeyValue object, std::string key, double timeout_seconds, AtEnd at_end)
    : state_(std::make_shared<State>(std::move(object), std::move(key), timeout_seconds, at_end))
{
}

Lease::~Lease()
{
    if (!state_.mine()) return;
    if (state_->at_end == AtEnd::remove_record) {
        try {
            remove();
        } catch (...) { // as give_back()
        }
    }
    state_->give_back();
}

std::optional<Lease::Seen> Lease::look()
{
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    return state.look();
}

std::optional<Lease::Seen> Lease::take(Bytes note)
{
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    while (true) {
        auto found = state.look();
        if (found && found->state != LeaseState::free &&
            !(found->state == LeaseState::held_elsewhere && state.is_silent(found->record)))
            return found;
        if (state.take_as_seen(note)) return std::nullopt;
    }
}

bool Lease::take_as_seen(Bytes note)
{
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    return state.take_as_seen(note);
}

bool Lease::say(Bytes note)
{
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    return state.say(note, false);
}

bool Lease::remove()
{
    State& state = *state_;
    state.stop_signs();
    const std::lock_guard lock(state.mutex);
    return state.change(nullptr);
}

bool Lease::still_held()
{
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    if (!state.held || state.is_lost) return false;
    const auto there = state.object.get_nonempty(state.key);
    if (!there || decode_lease(*there).token != state.mine.token) state.is_lost = true;
    return !state.is_lost;
}

bool Lease::surely_held()
{
    const State& state = *state_;
    if (state.is_lost) return false;
    const SteadyClock::duration age =
        SteadyClock::now().time_since_epoch() - SteadyClock::duration(state.last_sign);
    return std::chrono::duration<double>(age).count() < state.timeout || still_held();
}

bool Lease::lost() const
{
    return state_->is_lost;
}

void Lease::give_back() noexcept
{
    if (state_.mine()) state_->give_back();
}

LeaseWatch::Found LeaseWatch::look()
{
    auto bytes = object_.get_nonempty(key_);
    if (!bytes) return Found::unknown;
    const auto now = SteadyClock::now();
    if (*bytes != last_) {
        last_ = std::move(*bytes);
        record_ = decode_lease(last_);
        since_ = now;
    }
    if (record_.over) return Found::left;
    switch (life_of(record_.holder)) {
    case Life::alive: return Found::working;
    case Life::dead: return Found::died;
    case Life::elsewhere: break;
    }
    const bool silent =
        record_.interval_ms > 0 && now - since_ > std::chrono::milliseconds(3 * record_.interval_ms);
    return silent ? Found::died : Found::working;
}

} // namespace stepstore

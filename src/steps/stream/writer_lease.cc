#include "steps/stream/writer_lease.h"

#include "base/record.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stepstore::steps {

namespace {

// beside the catalogue's 0x53530001 and the streams' 0x53530002
constexpr std::uint32_t turns_hi = 0x53530003;
constexpr std::uint32_t turn_magic = 0x54575353; // "SSWT"
constexpr std::uint32_t turn_version = 1;
constexpr double signs_per_timeout = 3;
constexpr std::chrono::milliseconds look_interval{50};

NumberedLog open_turns(const Container& container, Access access, const std::string& stream)
{
    return {container.key_value(container.object_id(0, turns_hi, ObjectType::key_value), access),
            {},
            "/" + stream};
}

std::string first_key(const std::string& stream)
{
    return "first/" + stream;
}

std::uint64_t now_ms()
{
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                          std::chrono::system_clock::now().time_since_epoch())
                                          .count());
}

std::vector<std::byte> encode_turn(const WriterTurn& turn)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    to.fixed(turn_magic);
    to.fixed(turn_version);
    to.fixed(turn.token);
    to.fixed(static_cast<std::uint8_t>(turn.over ? 1 : 0));
    to.fixed(turn.interval_ms);
    to.fixed(turn.sign_ms);
    to.fixed(turn.since_ms);
    write_process(to, turn.writer);
    append_checksum(bytes);
    return bytes;
}

// A turn that cannot be read is that of a writer of which only the signs are known: the bytes change or not.
WriterTurn decode_turn(Bytes bytes)
{
    WriterTurn unknown;
    unknown.writer.host = "an unknown host (the record of the writer is damaged)";
    try {
        const auto body = unseal_end(bytes);
        if (!body) return unknown;
        WireReader from(*body, "the record of a stream's writer");
        if (from.fixed<std::uint32_t>() != turn_magic || from.fixed<std::uint32_t>() != turn_version)
            return unknown;
        WriterTurn turn;
        turn.token = from.fixed<std::uint64_t>();
        turn.over = from.fixed<std::uint8_t>() != 0;
        turn.interval_ms = from.fixed<std::uint64_t>();
        turn.sign_ms = from.fixed<std::uint64_t>();
        turn.since_ms = from.fixed<std::uint64_t>();
        turn.writer = read_process(from);
        return turn;
    } catch (const Error&) {
        return unknown;
    }
}

std::optional<std::uint64_t> decode_first(const std::optional<std::vector<std::byte>>& value)
{
    if (!value || value->size() != sizeof(std::uint64_t)) return std::nullopt;
    return load_little<std::uint64_t>(value->data());
}

std::vector<std::byte> encode_first(std::uint64_t number)
{
    std::vector<std::byte> value(sizeof number);
    store_little(value.data(), number);
    return value;
}

} // namespace

WriterLease::WriterLease(const Container& container, std::string stream, std::string where,
                         double timeout_seconds)
    : turns_(open_turns(container, Access::read_write, stream)), stream_(std::move(stream)),
      where_(std::move(where)), timeout_(timeout_seconds)
{
    turn_.token = own_.number();
    turn_.writer = this_process();
    turn_.interval_ms = static_cast<std::uint64_t>(std::ceil(timeout_ * 1000 / signs_per_timeout));
    acquire();
    held_ = true;
    if (turn_.interval_ms > 0)
        signs_ = std::jthread([this](const std::stop_token& stop) { give_signs(stop); });
}

WriterLease::~WriterLease()
{
    give_back();
}

std::vector<std::byte> WriterLease::encoded(bool over) const
{
    WriterTurn turn = turn_;
    turn.over = over;
    turn.sign_ms = now_ms();
    return encode_turn(turn);
}

void WriterLease::acquire()
{
    while (true) {
        const auto begins = turns_.object().get(first_key(stream_));
        const auto first = decode_first(begins);
        std::optional<std::vector<std::byte>> before;
        turns_.go_to(first.value_or(0));
        while (auto turn = turns_.read_next())
            before = std::move(turn);
        number_ = turns_.next();
        if (before) wait_until_over(number_ - 1, *before);
        turn_.since_ms = now_ms();
        said_ = encoded(false);
        own_.is_put();
        if (!turns_.put(number_, said_)) continue; // somebody was faster
        if (turns_.object().get(first_key(stream_)) == begins &&
            (!before || turns_.at(number_ - 1) == before)) {
            if (number_ == first.value_or(0)) return;
            if (begin_row(begins, number_)) {
                for (std::uint64_t old = first.value_or(0); old < number_; ++old)
                    turns_.object().remove(turns_.key(old));
                return;
            }
        }
        turns_.object().remove_if(turns_.key(number_), said_);
    }
}

// At this number, if it begins as it did. False: another process has changed that.
bool WriterLease::begin_row(const std::optional<std::vector<std::byte>>& before, std::uint64_t number)
{
    return turns_.object().put_if(first_key(stream_), before ? std::optional<Bytes>(*before) : std::nullopt,
                                  encode_first(number));
}

bool WriterLease::say(bool over)
{
    const std::string key = turns_.key(number_);
    const std::vector<std::byte> now = encoded(over);
    if (!turns_.object().put_if(key, said_, now)) {
        // Of a put that got no answer nobody knew whether it would be carried out.
        const auto there = turns_.at(number_);
        if (!there || decode_turn(*there).token != turn_.token || !turns_.object().put_if(key, *there, now))
            return false;
    }
    said_ = now;
    return true;
}

// Returns when the turn, which holds `bytes`, is over and will not change any more.
void WriterLease::wait_until_over(std::uint64_t number, const std::vector<std::byte>& bytes)
{
    const WriterTurn turn = decode_turn(bytes);
    if (turn.over) return;
    const auto busy = [&](const std::string& advice) {
        throw Error(-DER_BUSY,
                    "the stream " + where_ + " is being written by " + turn.writer.text() + ": " + advice);
    };
    switch (life_of(turn.writer)) {
    case Life::dead: return;
    case Life::alive:
        if (turn.writer == turn_.writer && OwnTurn<OwnState::stream_turns>::is_left_over(turn.token)) return;
        if (turn.writer == turn_.writer)
            busy("this is the same process: it has another engine open on the stream. Close that engine "
                 "first, or write another stream");
        busy("wait until it closes the stream, end that process, or write another stream");
    case Life::elsewhere: break;
    }
    if (timeout_ <= 0) return;
    const std::string advice =
        "this machine cannot see whether that process lives. It counts as dead after " +
        std::to_string(timeout_) +
        " seconds without a sign of life. If you know that it is dead, set WriterTimeoutSecs=0 to take over "
        "at once";
    // Its clock may be another: what looks fresh is not taken, what looks old is watched.
    const std::uint64_t now = now_ms();
    const std::uint64_t age = std::max(now, turn.sign_ms) - std::min(now, turn.sign_ms);
    if (turn.interval_ms > 0 && age < 2 * turn.interval_ms) busy(advice);
    const double patience =
        std::max(timeout_, signs_per_timeout * static_cast<double>(turn.interval_ms) / 1000);
    const auto begin = SteadyClock::now();
    while (std::chrono::duration<double>(SteadyClock::now() - begin).count() < patience) {
        sleep_for(look_interval);
        const auto current = turns_.at(number);
        if (!current) return; // others have taken over: step 3 notices
        if (*current == bytes) continue;
        if (decode_turn(*current).over) return;
        busy(advice);
    }
}

void WriterLease::give_signs(const std::stop_token& stop)
{
    const std::chrono::milliseconds interval(turn_.interval_ms);
    std::unique_lock lock(mutex_);
    while (!stopped_.wait_for(lock, stop, interval, [&] { return stop.stop_requested(); })) {
        if (stop.stop_requested()) return;
        try {
            if (!say(false)) { // removed by the one that took over
                lost_ = true;
                return;
            }
        } catch (const Error& error) {
            if (error.code() == -DER_NONEXIST) { // with its container
                lost_ = true;
                return;
            }
            // Anything else (a full disk) may be over by the next sign.
        }
    }
}

void WriterLease::require_held() const
{
    if (lost_)
        throw Error(-DER_STALE,
                    "the stream " + where_ +
                        " was taken over by another writer, because this one gave no sign of life for longer "
                        "than its WriterTimeoutSecs: what this writer writes from now on is not kept");
}

void WriterLease::stop_signs() noexcept
{
    if (!signs_.joinable()) return;
    signs_.request_stop();
    signs_.join();
}

void WriterLease::give_back() noexcept
{
    stop_signs();
    if (!std::exchange(held_, false) || lost_) return;
    try {
        say(true);
        own_.is_gone();
    } catch (...) { // then it ends with this process, which knows that it does not hold it any more
    }
}

void WriterLease::give_back_for_good() noexcept
{
    stop_signs();
    if (!std::exchange(held_, false) || lost_) return;
    try {
        const bool mine = say(true);
        own_.is_gone();
        if (!mine) return;
        const auto begins = turns_.object().get(first_key(stream_));
        if (decode_first(begins).value_or(0) == number_ && begin_row(begins, number_ + 1))
            turns_.object().remove_if(turns_.key(number_), said_);
    } catch (...) {
    }
}

WriterWatch::WriterWatch(const Container& container, std::string stream)
    : turns_(open_turns(container, Access::read_only, stream)), stream_(std::move(stream))
{
}

WriterWatch::State WriterWatch::look()
{
    // Mostly the turn of the last look is still the last one.
    auto bytes = turns_.at(number_);
    turns_.go_to(bytes ? number_ + 1 : decode_first(turns_.object().get(first_key(stream_))).value_or(0));
    while (auto next = turns_.read_next())
        bytes = std::move(next);
    if (!bytes) return State::unknown;
    number_ = turns_.next() - 1;
    const auto now = SteadyClock::now();
    if (*bytes != last_) {
        last_ = std::move(*bytes);
        turn_ = decode_turn(last_);
        since_ = now;
    }
    if (turn_.over) return State::left;
    switch (life_of(turn_.writer)) {
    case Life::alive: return State::working;
    case Life::dead: return State::died;
    case Life::elsewhere: break;
    }
    const bool silent =
        turn_.interval_ms > 0 && now - since_ > std::chrono::milliseconds(3 * turn_.interval_ms);
    return silent ? State::died : State::working;
}

} // namespace stepstore::steps

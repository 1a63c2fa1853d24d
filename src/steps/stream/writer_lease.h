// One writer per stream: who writes it, whether that writer still lives, and how the next one takes over.
//
// The turns of a stream lie in one key-value object per container (docs/format-stream.md), key
// "<number>/<stream>" for each turn, of which there is mostly one: the last. "first/<stream>" says with which
// number the row begins (absent: 0). The one primitive is a put that fails when the key is there.
//
// 1. A writer walks the row from its first number to the first one that is not there, n. The turn before, n -
//    1, must be over: given back, or its process dead, or left over from a call in doubt of this very process
//    (client/own_turns.h). Otherwise: -DER_BUSY, which names it.
// 2. It puts turn n on the condition that there is none. Of several that try, one succeeds; the others look
//    again.
// 3. It looks whether the row still begins where it did, and whether turn n - 1 still is what it was. If not,
//    it was slow: others came and went meanwhile, and what it saw was old, or the writer that seemed dead has
//    given a sign. Then it takes its own turn back and looks again.
// 4. It makes the row begin at n, if it still begins where it did: else it takes its own turn back, too, and
//    looks again. Then the turn is its own, and it removes what is before. In that order, a process that
//    misses a removed turn finds in 3. that the row begins elsewhere.
// 5. It changes its turn only if that is as it left it: to give a sign, and to give it back.
// 6. Who removes a stream says that its turn is over, makes the row begin at n + 1, and removes the turn. The
//    numbers do not begin again: else one that took over meanwhile would be in the middle of another row.
// A writer that dies between any two of these leaves a row that the next one walks in the same way. One that
// was stopped in between, and taken for dead, changes nothing of what others put.
//
// Whether a process of the same machine is dead the machine says at once. One on another machine gives a sign
// of life: it writes its turn again every third of its time-out, from a thread of its own. Clocks need not
// agree: a turn that does not look fresh is watched for the time-out before it counts as dead.
#pragma once

#include "base/process.h"
#include "base/time_source.h"
#include "client/numbered_log.h"
#include "client/own_turns.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace stepstore::steps {

// What a turn says.
struct WriterTurn {
    std::uint64_t token = 0; // of the turn, among those of its process
    ProcessIdentity writer;
    bool over = false;             // given back
    std::uint64_t interval_ms = 0; // between two signs of life; 0: it gives none
    std::uint64_t sign_ms = 0;     // when the last was given, since 1970, by the writer's clock
    std::uint64_t since_ms = 0;
};

// Held by rank 0 of a writer (OwnState::stream_writer).
class WriterLease {
public:
    // timeout_seconds: after so long without a sign of life a writer on another machine is dead; 0: at once,
    // and this one gives no signs. where: the stream, for messages. -DER_BUSY: a writer is at work; the
    // message names it.
    WriterLease(const Container& container, std::string stream, std::string where, double timeout_seconds);
    ~WriterLease(); // gives it back
    WriterLease(const WriterLease&) = delete;
    WriterLease& operator=(const WriterLease&) = delete;

    // -DER_STALE: another writer has taken over, because it believed this one dead.
    void require_held() const;
    void give_back() noexcept;
    // For a stream that is no more: gives it back, and leaves no turn.
    void give_back_for_good() noexcept;

private:
    void acquire();
    void wait_until_over(std::uint64_t number, const std::vector<std::byte>& turn);
    std::vector<std::byte> encoded(bool over) const;
    void stop_signs() noexcept;
    void give_signs(const std::stop_token& stop);
    bool begin_row(const std::optional<std::vector<std::byte>>& before, std::uint64_t number);
    bool say(bool over); // puts the turn anew; false: it is another's

    NumberedLog turns_;
    std::string stream_;
    std::string where_;
    double timeout_;
    WriterTurn turn_;
    OwnTurn<OwnState::stream_turns> own_;
    std::uint64_t number_ = 0;
    std::vector<std::byte> said_; // the turn as this process put it last
    bool held_ = false;
    std::atomic<bool> lost_ = false;
    // Of OwnState::stream_writer: it gives the signs of life.
    std::mutex mutex_;
    std::condition_variable_any stopped_;
    std::jthread signs_;
};

// A reader's view.
class WriterWatch {
public:
    WriterWatch(const Container& container, std::string stream);
    enum class State : std::uint8_t { working, left, died, unknown };
    // A writer on another machine counts as dead when it gave no sign over several of these calls, for three
    // times its own interval.
    State look();
    std::string writer() const { return turn_.writer.text(); } // of the last look

private:
    NumberedLog turns_;
    std::string stream_;
    std::uint64_t number_ = 0;
    WriterTurn turn_;
    std::vector<std::byte> last_;
    SteadyClock::time_point since_;
};

} // namespace stepstore::steps

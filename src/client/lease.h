// A lease: the right to write a named thing, which one process has at a time. The writer of a stream holds
// one, a copy to a container, and a process that makes or destroys the container of a dataset of fields.
//
// A lease is a record under one key of a key-value object. It names its holder, and has a random token that
// no other lease has. Each change of it is one put (or removal) on the condition that the record is as it
// was read. No two records have the same bytes, since each put counts.
//
// 1. A process reads the record. The lease is free if there is no record, if the record says that it is
//    over, or if its holder is dead. Otherwise the process is told who has it.
// 2. It puts its own record in the place of what it read. Of several that try, one succeeds. The others look
//    again.
// 3. The holder changes its record only if it is its own: to say how far it is, to give a sign of life, and
//    to give the lease back. If the record is another's, the lease is lost: others have taken it over.
// 4. The holder reads what it will replace, then looks whether it still holds the lease, and then puts, on
//    the condition that nothing has changed since it read. So a slow holder that was taken over from changes
//    nothing that the next one has published. At most it publishes before the next one does. Then the put of
//    the next one is refused, and it is told.
// 5. What a holder has done while it held the lease is known to the next one. So a holder that may have stood
//    still asks at the end whether it still holds it (surely_held), before it tells anybody that it is done.
//
// Why it holds:
// - Killed at any instant: the key has the record of before or of after. The process is dead, so 1. finds
//   the lease free. The note of the record says how far it was.
// - A call in doubt (in_doubt.h): a put that comes late finds another record than it expects, and does
//   nothing. If it comes before the next put, the record has the token of the lease. So its holder knows it
//   again (3.), and so does its process if it has let go of the lease: that record is free to it.
// - No space for the record that gives it back: the process goes on trying (let_go.h). So others get it soon
//   after there is space again, and do not wait for the end of the process.
// - Fork: a child is refused by OfProcess. Its destructors give back nothing, and it has no thread that
//   gives signs. A lease that the child takes names another process.
// - A process number that was used again: the record has the time when its process began.
// - A restart of the machine, or another machine: the holder cannot be seen. Then its signs decide. A holder
//   writes its record again every third of its time-out. A record that does not look fresh is watched for
//   the time-out, so clocks need not agree. A lease without a time-out is taken over only by force.
// - A record that cannot be read is one of an unseen holder. Without a time-out it is free.
#pragma once

#include "base/own_state.h"
#include "base/process.h"
#include "base/time_source.h"
#include "stepstore/client.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace stepstore {

struct LeaseRecord {
    std::uint64_t token = 0; // of the lease, among those of its process
    std::uint64_t puts = 0;  // of this record by its holder
    ProcessIdentity holder;
    bool over = false;             // given back
    std::uint64_t interval_ms = 0; // between two signs of life; 0: it gives none
    std::uint64_t sign_ms = 0;     // when the last was given, since 1970, by the holder's clock
    std::vector<std::byte> note;   // what the holder said of its work
    bool damaged = false;          // then nothing else is known; not stored
};
std::vector<std::byte> encode_lease(const LeaseRecord& record);
LeaseRecord decode_lease(Bytes bytes); // throws nothing

enum class LeaseState : std::uint8_t {
    free,
    held_here,     // by this process
    held,          // by another process of this machine, which lives
    held_elsewhere // by a process that cannot be seen from here
};
LeaseState state_of(const LeaseRecord& record);

// Several threads may use one. A forked child is refused with -DER_NO_HDL at every call.
class Lease {
public:
    static constexpr double never = std::numeric_limits<double>::infinity();
    enum class AtEnd : std::uint8_t { keep_record, remove_record };
    // Takes nothing yet. timeout_seconds: after so long without a sign of life an unseen holder is dead, and
    // this one gives signs accordingly. never: it is not, and this one gives no signs. 0: it is at once, and
    // this one gives no signs. at_end: what the destructor does.
    Lease(KeyValue object, std::string key, double timeout_seconds = never,
          AtEnd at_end = AtEnd::keep_record);
    ~Lease(); // gives it back
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;

    struct Seen {
        LeaseRecord record;
        LeaseState state = LeaseState::free;
    };
    // nullopt: there is no record.
    std::optional<Seen> look();
    // nullopt: this process holds it now. Otherwise who does. May wait for the time-out. -DER_CANCELED: it
    // was asked to stop.
    std::optional<Seen> take(Bytes note = {});
    // Takes it from anybody who had it at the last look. False: it has changed since.
    bool take_as_seen(Bytes note);

    // Of one that is held. False: it was taken over, and nothing was changed.
    bool say(Bytes note);
    bool remove();     // gives it back, and leaves no record
    bool still_held(); // asks the store
    // The same, but asks only if others may have taken it over: the last sign of life began a time-out ago.
    // Without a time-out, as only force takes it over and it gives no signs, it always asks.
    bool surely_held();
    // Whether it is known that others have taken it over since this one took it last.
    bool lost() const;
    void give_back() noexcept; // leaves a record with its note, which says that it is over

private:
    struct State;
    OfProcess<OwnState::lease, State> state_;
};

// What others learn of the holder. For one thread at a time.
class LeaseWatch {
public:
    LeaseWatch(KeyValue object, std::string key) : object_(std::move(object)), key_(std::move(key)) {}
    enum class Found : std::uint8_t { working, left, died, unknown };
    // A holder on another machine counts as dead when it gave no sign over several of these calls, for three
    // times its own interval.
    Found look();
    std::string holder() const { return record_.holder.text(); } // of the last look

private:
    KeyValue object_;
    std::string key_;
    LeaseRecord record_;
    std::vector<std::byte> last_;
    SteadyClock::time_point since_;
};

} // namespace stepstore

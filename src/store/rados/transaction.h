// A run of a body on what is known of a target. What the body looks up and the process does not know is read;
// what the body puts is kept aside. Target (target.cc) then sends both as one operation.
//
// A transaction knows things in one of two ways:
// - Pinned: all of it was read at one version of the index. Reads are always so. An update becomes so when it
//   seeks outside of a scope (backend.h). Its one condition is that version.
// - By keys: each key that was got is a condition, and so is the guard of each scope in which was sought.
//   What
//   the process remembers will do, and a guess that there is nothing. So an update of something new needs no
//   read.
// What does not hold any more when it is looked up again makes the body begin again (Again).
//
// Threads: that of the call. Errors: Again, which begins the body again; DER_CSUM for damage, DER_INVAL for a
// key or value that is too large.
#pragma once

#include "base/found_twice.h"
#include "store/rados/remembered.h"

#include <deque>
#include <span>

namespace stepstore::store::rados {

class Transaction;
// Thrown through a body: its transaction has to begin again.
struct Again {
    const Transaction* which;
};

struct SpilledValue {
    ExtentRef extent;
    std::string bytes = {};
    bool lost = false; // the extent is gone
};
class ExtentReader {
public:
    virtual ~ExtentReader() = default;
    virtual void read_spilled(std::span<SpilledValue> values) = 0; // all at once
};

class Transaction final : public WriteTransaction, public NetworkTransaction {
public:
    Transaction(Index& index, Remembered& remembered, ExtentReader& extents, bool writes)
        : index_(index), remembered_(remembered), extents_(extents), writes_(writes), pinned_(!writes)
    {
    }

    bool get(Bytes key, Bytes& value) override;
    std::uint64_t version() const override;
    const Capabilities& capabilities() const override { return rados_form.capabilities; }
    NetworkTransaction* network() override { return this; }
    ExtentRef value_extent() const override;
    void expect(std::span<const Bytes> keys) override;
    void expect_from(Bytes prefix, Bytes from, std::size_t entries) override;
    bool seek(Bytes key, Entry& entry) override;
    bool seek_last(Bytes key, Entry& entry) override;
    bool seek_in(Bytes prefix, Bytes key, Entry& entry) override;
    bool seek_last_in(Bytes prefix, Bytes key, Entry& entry) override;
    bool next(Entry& entry) override;
    bool previous(Entry& entry) override;
    void put(Bytes key, Bytes value) override;
    MutableBytes reserve(Bytes key, std::size_t length) override;
    bool erase(Bytes key) override;
    bool take_barrier(Epoch epoch) override;
    Epoch seen() override;

    // ---- for Target
    void begin();   // another run of the body
    void refresh(); // reads all that was asked for anew, in one operation
    // What is remembered or guessed will not do, from now on: another transaction commits by it.
    void be_careful() { careful_ = true; }
    bool has_guessed() const { return !certain_; }
    void remember_all(); // what refresh() found, for the transactions that come
    bool certain() const { return certain_ && !mixed_; } // all that the run saw was so at one moment
    void reads_an_extent() { has_read_extents_ = true; }
    // The run found damage. False: it may be of an extent that was released while it was read
    // (found_twice.h).
    bool damage_counts() { return !has_read_extents_ || damage_found_twice_(seen_sum_); }
    void took(Epoch epoch)
    {
        first_epoch_ = first_epoch_ == 0 ? epoch : first_epoch_;
        last_epoch_ = epoch;
    }

    using Changes =
        std::map<std::string, std::optional<std::string>, std::less<>>; // values with room for a header
    struct ScopeView {
        Raw guard;
        Cover cover;
        std::uint64_t version = 0; // 0: remembered or guessed
        bool guessed = false;
    };
    struct Cell {
        Raw raw;
        std::uint64_t version = 0; // 0: remembered or guessed
        bool got = false;          // by this run
        bool guessed = false;
    };

    Index& index_;
    Remembered& remembered_;
    ExtentReader& extents_;
    const bool writes_;
    bool pinned_;
    bool careful_ = false;
    std::uint64_t version_ = 0; // at which the run saw the target first
    std::map<std::string, Cell, std::less<>> cells_;
    Cover cover_;                             // pinned
    std::map<std::string, ScopeView> scopes_; // by keys; those of this run are in scopes_used_
    std::set<std::string> scopes_used_;
    Changes changes_;
    std::set<std::string> asked_;                                        // keys, in all runs
    std::map<std::pair<std::string, std::string>, std::uint64_t> scans_; // (prefix, from): entries
    Epoch first_epoch_ = 0, last_epoch_ = 0;                             // that the body took
    Epoch seen_ = 0;    // the greatest epoch of what the run saw
    Epoch barrier_ = 0; // greater than every epoch on the target
    std::vector<ExtentRef> entering_, leaving_;
    std::vector<ExtentRef> freed_; // of spilled values that it replaces
    std::set<std::string> notes_;  // of drops that are done, which it removes
    bool note_ = false;            // it makes one
    Epoch raised_limit_ = 0;       // to which it raises the target's
    std::string lock_;             // whose lock refresh() found it to be
    Raw limit_;                    // of the target, as read last; nullptr: not read

private:
    struct Span { // where a seek looks
        std::string prefix;
        std::string end; // after the prefix
        bool scoped = false;
    };
    using Found = std::optional<std::pair<std::string, Raw>>; // with Raw nullptr: among the changes
    Span span_of(Bytes prefix);
    Cover& cover_of(const Span& span);
    ScopeView& open_scope(const std::string& scope);
    std::uint64_t to_scan(const std::string& key) const;
    Found first_from(const Span& span, std::string key);
    Found last_before(const Span& span, std::string key);
    void fetch_from(const Span& span, const std::string& from, std::uint64_t most);
    void fetch_before(const Span& span, const std::string& floor, const std::string& key);
    std::uint64_t run(Fetch& fetch, const Span* span);
    void take_scan(const Fetch::Scan& scan, std::uint64_t version, Cover& cover);
    void add_expected(Fetch& fetch);
    void saw(const Raw& raw);
    void saw_version(std::uint64_t version);
    bool give(Found found, const Span& span, Entry& entry);
    Bytes value_of(const Raw& raw, std::uint64_t version, const std::string& key, bool walks);
    std::vector<SpilledValue> to_read(const ExtentRef& extent, const std::string& key, bool walks);
    Cell& cell(const std::string& key);
    Cell& look_up(const std::string& key);

    std::vector<std::string> expected_;
    std::vector<Fetch::Scan> expected_scans_;
    std::string position_;
    Span position_span_;
    bool placed_ = false;
    struct {
        std::string last; // key
        std::uint64_t entries = 0, bytes = 0;
    } last_scan_; // of first_from()
    bool certain_ = true, mixed_ = false;
    std::uint64_t first_seen_version_ = 0;
    std::deque<Raw> kept_; // what get and seek gave views of
    // What was read of spilled values, by file and offset. It stays over the runs, as extents never change:
    // so a body of many ends even if others replace some of them all the time.
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> spilled_;
    std::string last_walked_; // key of the last spilled value that a walk needed and that was not read yet
    std::size_t ahead_ = 0;   // how many keys after it are looked at
    FoundTwice<ExtentRef> lost_twice_;
    bool has_read_extents_ = false; // in this run
    std::uint64_t seen_sum_ = 0;    // of all that the run saw, in its order
    FoundTwice<std::uint64_t> damage_found_twice_;
};

} // namespace stepstore::store::rados

// The look-ups of a transaction on one target, and whether each would still find the same.
//
// A look-up is a key that was got, or a place from which the next entry was sought. What it found is kept as
// the key of the entry and the checksum of its value. A record's value begins with its epoch, and names its
// extent. So another version of a record never has the same checksum, except by a chance of 2^-64, and no
// payload in an extent has to be read again.
//
// Threads: of one call at a time. Errors: DER_TX_RESTART, DER_OVERFLOW.
#pragma once

#include "store/transaction/changes.h"

#include <string>

namespace stepstore::store {

enum class LookKind : std::uint8_t { exactly, from, before };

struct Look {
    LookKind kind;
    OwnedBytes prefix; // among the keys that begin with it (NetworkTransaction); else empty
    OwnedBytes key;
    friend auto operator<=>(const Look&, const Look&) = default;
};
struct Seen {
    bool there = false;
    OwnedBytes key; // of the entry, where it was sought
    std::uint64_t sum = 0;
    friend bool operator==(const Seen&, const Seen&) = default;
};

// Looks it up; `entry` is what it finds.
bool look_up(ReadTransaction& transaction, const Look& look, Entry& entry);
Seen found_by(const Look& look, bool there, const Entry& entry);

// The transaction has to begin again: what it saw was changed.
[[noreturn]] void restart(const std::string& where);

class Looks {
public:
    using All = std::map<Look, Seen>;
    static constexpr std::size_t most = 1 << 20; // in a transaction

    bool empty() const { return all_.empty(); }
    // Adds those of a run at this version of the target. A look-up that found something else before: restart.
    void add(All&& run, std::uint64_t version, const std::string& where);
    // restart where one of them would find something else now.
    void verify(ReadTransaction& now, const std::string& where) const;
    // The same, unless the target has not changed since all were last right. True: it has.
    bool verify_if_changed(ReadTransaction& now, const std::string& where);
    void clear() { *this = {}; }

private:
    All all_;
    std::uint64_t version_ = 0; // of the target, at which all of them were right; 0: not known
};

} // namespace stepstore::store

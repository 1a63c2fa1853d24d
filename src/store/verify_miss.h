// What a miss proves (docs/design/store.md).
//
// A damaged key is not found under its own name. But the back end keeps every target in order and says so
// when it is not. So such a record lies directly beside the place where it belongs. It fails its checksum
// there, since the checksum covers the key. Code that takes a miss, or the end of a walk, for proof that
// something is not there first looks at the records beside the place. A hit costs nothing.
//
// An update must not put a record between a damaged one and its place, or over it: then nobody would find it.
// So it puts the damaged one back first. One changed byte of a key, or of its size, is found by trying: under
// its own key a record is intact.
//
// Where the medium verifies keys itself (Capabilities), a miss is proof, and none of this looks.
//
// Threads: that of the transaction. Errors: those of the transaction; a text says what is wrong with a
// record.
#pragma once

#include "store/backend.h"
#include "store/keys.h"

namespace stepstore::store {

// What is wrong with an entry of a target or of meta, as far as its key and header tell; nullptr: nothing.
const char* damage_of(const Entry& entry);

// On a miss: what is wrong with the record before the place of `key`, or with the one there or after it.
// nullptr: both are intact, so there is no such record. Moves the position.
const char* damage_at_miss(ReadTransaction& transaction, Bytes key);
// The same of the record before the place alone.
const char* damage_before(ReadTransaction& transaction, Bytes key);

// The entries from `from` on whose keys begin with `prefix`. What both refer to must live as long.
class Entries {
public:
    Entries(ReadTransaction& transaction, Bytes from, Bytes prefix)
        : transaction_(transaction), from_(from), prefix_(prefix)
    {
    }
    // The first one, then the next. False: there are no more.
    bool next(Entry& entry)
    {
        const bool there = begun_ ? transaction_.next(entry)
                           : transaction_.capabilities().verifies_keys
                               ? transaction_.seek_in(prefix_, from_, entry)
                               : transaction_.seek(from_, entry);
        begun_ = true;
        if (there && starts_with(entry.key, prefix_)) return true;
        if (there) behind_ = entry;
        return false;
    }
    // What is wrong with the record that ended next(): one of these entries may have been it. nullptr:
    // nothing.
    const char* damage_behind() const { return behind_.key.empty() ? nullptr : damage_of(behind_); }
    // The same, and of the record before the first of them. Moves the position.
    const char* damage_beside() const
    {
        const char* reason = damage_behind();
        return reason != nullptr ? reason : damage_before(transaction_, from_);
    }

private:
    ReadTransaction& transaction_;
    Bytes from_, prefix_;
    Entry behind_;
    bool begun_ = false;
};

// Puts a record back under its own key that lies at the place of `key`, or beside it, because one byte of its
// key was changed. False: there is none. An update calls it before it puts a record where there was none.
bool put_back(WriteTransaction& transaction, Bytes key);

} // namespace stepstore::store

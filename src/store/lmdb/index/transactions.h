// WriteTransaction over a transaction of LMDB's. Only environment.cc makes them.
// Threads: that of the transaction. Errors: MapFull, -DER_CSUM: a page is damaged, and what LMDB says.
#pragma once

#include "base/not_copied.h"
#include "store/backend.h"
#include "store/lmdb/index/tree.h"

#include <array>
#include <lmdb.h>

namespace stepstore::store::lmdb {

// The map is full, and this much more is wanted at once. Ends a body that is
// then run again; never leaves the back end.
struct MapFull {
    std::size_t wanted;
};

// Until its first change a transaction reads the version that it began with, and by our own means (tree.h).
// LMDB itself is let near the pages of a key only after they were looked at.
class LmdbWrite final : public WriteTransaction, NotCopied {
public:
    // base: what was committed last. changed: others have written in this transaction before.
    LmdbWrite(MDB_txn* transaction, MDB_dbi database, const std::string& where, Tree& base, bool changed)
        : transaction_(transaction), database_(database), where_(where), base_(base), changed_(changed)
    {
    }
    ~LmdbWrite() override { close_cursor(); }

    bool get(Bytes key, Bytes& value) override;
    bool seek(Bytes key, Entry& entry) override;
    bool seek_last(Bytes key, Entry& entry) override;
    bool next(Entry& entry) override;
    bool previous(Entry& entry) override;
    void put(Bytes key, Bytes value) override { store(key, value, 0); }
    MutableBytes reserve(Bytes key, std::size_t length) override;
    bool erase(Bytes key) override;
    const Capabilities& capabilities() const override { return path_form.capabilities; }
    std::uint64_t version() const override { return 0; }
    ExtentRef value_extent() const override { return {}; }
    NetworkTransaction* network() override { return nullptr; }

    // Set when MapFull was thrown, whatever the body made of it.
    bool map_full() const { return map_full_; }
    std::size_t wanted() const { return wanted_; }
    void close_cursor(); // before the transaction ends

private:
    std::byte* store(Bytes key, Bytes value, unsigned flags);
    bool give(int result, Entry& entry);
    int move(MDB_cursor_op operation);
    // The pages are about to change: the position's key is kept, and found again by the next move.
    void before_change();

    MDB_txn* transaction_;
    MDB_dbi database_;
    const std::string& where_;
    Tree& base_;
    bool changed_;
    // The one position, since the first change.
    MDB_cursor* cursor_ = nullptr; // opened by the first move
    bool placed_ = false;
    bool astray_ = false; // the cursor does not stand on position_
    MDB_val key_{}, value_{};
    Bytes position_; // the key last given
    std::array<std::byte, max_key + 12> kept_;

    bool map_full_ = false;
    std::size_t wanted_ = 0;
};

} // namespace stepstore::store::lmdb

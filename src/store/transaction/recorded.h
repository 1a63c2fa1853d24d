// A back end's transaction as the body of a transaction's call sees it: what was committed, under what the
// transaction itself has changed. Each look at what was committed is recorded.
//
// Threads: of one call. Errors: DER_INVAL: a key that cannot be.
#pragma once

#include "store/transaction/looks.h"

namespace stepstore::store {

class Recorded final : public WriteTransaction, public NetworkTransaction, NotCopied {
public:
    Recorded(ReadTransaction& now, Changes& changes, Looks::All& looks)
        : now_(now), changes_(changes), looks_(looks)
    {
    }

    bool get(Bytes key, Bytes& value) override;
    const Capabilities& capabilities() const override { return now_.capabilities(); }
    std::uint64_t version() const override { return 0; }
    ExtentRef value_extent() const override { return {}; }
    NetworkTransaction* network() override { return now_.network() != nullptr ? this : nullptr; }
    bool seek(Bytes key, Entry& entry) override { return give({}, first_from({}, owned(key)), entry); }
    bool seek_last(Bytes key, Entry& entry) override { return give({}, last_before({}, owned(key)), entry); }
    bool next(Entry& entry) override;
    bool previous(Entry& entry) override;

    void expect(std::span<const Bytes> keys) override { now_.expect(keys); }
    void expect_from(Bytes prefix, Bytes from, std::size_t entries) override
    {
        now_.expect_from(prefix, from, entries);
    }
    bool seek_in(Bytes prefix, Bytes key, Entry& entry) override
    {
        return give(prefix, first_from(owned(prefix), owned(key)), entry);
    }
    bool seek_last_in(Bytes prefix, Bytes key, Entry& entry) override
    {
        return give(prefix, last_before(owned(prefix), owned(key)), entry);
    }
    bool take_barrier(Epoch) override { return false; } // of snapshots alone
    Epoch seen() override { return now_.network()->seen(); }

    void put(Bytes key, Bytes value) override;
    MutableBytes reserve(Bytes key, std::size_t length) override;
    bool erase(Bytes key) override;

private:
    using Found = std::optional<Entry>;
    bool recorded(LookKind kind, const OwnedBytes& prefix, const OwnedBytes& key, Entry& entry);
    Found first_from(OwnedBytes prefix, OwnedBytes key);
    Found last_before(OwnedBytes prefix, OwnedBytes key);
    bool give(Bytes prefix, const Found& found, Entry& entry);

    ReadTransaction& now_;
    Changes& changes_;
    Looks::All& looks_;
    OwnedBytes position_, within_; // within: the prefix among which the position was sought
};

} // namespace stepstore::store

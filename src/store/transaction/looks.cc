// Looking up again what a transaction has looked up before.
#include "store/transaction/looks.h"

#include "base/checksum.h"
#include "store/failure.h"

namespace stepstore::store {

bool look_up(ReadTransaction& transaction, const Look& look, Entry& entry)
{
    switch (look.kind) {
    case LookKind::exactly: entry.key = look.key; return transaction.get(look.key, entry.value);
    case LookKind::from:
        return look.prefix.empty() ? transaction.seek(look.key, entry)
                                   : transaction.seek_in(look.prefix, look.key, entry);
    case LookKind::before:
        return look.prefix.empty() ? transaction.seek_last(look.key, entry)
                                   : transaction.seek_last_in(look.prefix, look.key, entry);
    }
    return false;
}

Seen found_by(const Look& look, bool there, const Entry& entry)
{
    if (!there) return {};
    return {true, look.kind == LookKind::exactly ? OwnedBytes() : owned(entry.key), checksum(entry.value)};
}

void restart(const std::string& where)
{
    fail(DER_TX_RESTART, where +
                             ": what this transaction has read or replaces was changed by others: restart "
                             "it (daos_tx_restart) and repeat its calls");
}

void Looks::add(All&& run, std::uint64_t version, const std::string& where)
{
    if (all_.size() + run.size() > most) {
        fail(DER_OVERFLOW, where + ": a transaction looks at most at " + std::to_string(most) +
                               " places: use several transactions, or read at a snapshot");
    }
    for (auto& [look, found] : run) {
        const auto [at, is_new] = all_.try_emplace(look, found);
        if (!is_new && at->second != found) restart(where);
    }
    version_ = version;
}

void Looks::verify(ReadTransaction& now, const std::string& where) const
{
    if (now.network() != nullptr) { // with one request
        std::vector<Bytes> keys;
        for (const auto& [look, found] : all_)
            if (look.kind == LookKind::exactly) keys.emplace_back(look.key);
        if (!keys.empty()) now.expect(keys);
    }
    for (const auto& [look, found] : all_) {
        Entry entry;
        const bool there = look_up(now, look, entry);
        if (found_by(look, there, entry) != found) restart(where);
    }
}

bool Looks::verify_if_changed(ReadTransaction& now, const std::string& where)
{
    const std::uint64_t version = now.version();
    if (version != 0 && version == version_) return false;
    verify(now, where);
    version_ = version;
    // Where no version tells, what is right twice was right in between: a record never comes back as it was.
    return version != 0;
}

} // namespace stepstore::store

#include "store/snapshot_names.h"

#include "base/fork.h"
#include "store/failure.h"
#include "store/keys.h"
#include "store/pool_core.h"
#include "store/verify_miss.h"

#include <algorithm>
#include <mutex>

namespace stepstore::store {

namespace {

// Of a record in meta: nullopt where it is not of a snapshot that is there. A damaged one has no name.
std::optional<std::string> name_of(const Entry& entry)
{
    Bytes body;
    SnapshotRecord record;
    if (!unseal(entry.key, entry.value, body) || !decode_snapshot(body, record) ||
        record.state != SnapshotState::there)
        return std::nullopt;
    return std::move(record.name);
}

} // namespace

void NewName::require_free(ReadTransaction& meta, const std::string& path, std::uint64_t container,
                           Epoch newest)
{
    if (name_.empty()) return;
    const auto taken = [&](Epoch epoch) {
        fail(DER_EXIST, "pool " + path + ": this container has a snapshot named " + quoted(as_bytes(name_)) +
                            " already, at epoch " + std::to_string(epoch) +
                            ": choose another name, or destroy that one");
    };
    std::vector<Epoch> known;
    {
        const std::lock_guard lock(held_over_fork(ForkLock::containers));
        seen_from_ = known_.up_to;
        const auto [first, last] = known_.epochs.equal_range(name_);
        std::transform(first, last, std::back_inserter(known), [](const auto& one) { return one.second; });
    }
    seen_.clear();
    seen_to_ = std::max(seen_from_, newest);
    for (const Epoch epoch : known) {
        const KeyBuffer key = meta_key(MetaSpace::snapshot, container).add(epoch);
        Entry entry{key.view(), {}};
        if (meta.get(key.view(), entry.value) && name_of(entry) == name_) taken(epoch);
    }
    if (newest <= seen_from_) return;
    const KeyBuffer prefix = meta_key(MetaSpace::snapshot, container);
    KeyBuffer from = prefix;
    from.add(seen_from_ + 1);
    Entries entries(meta, from.view(), prefix.view());
    for (Entry entry; entries.next(entry);) {
        if (entry.key.size() != prefix.size() + 8) continue;
        const auto epoch = load_big<std::uint64_t>(entry.key.data() + prefix.size());
        auto name = name_of(entry);
        if (!name || name->empty()) continue;
        if (*name == name_) taken(epoch);
        seen_.emplace_back(std::move(*name), epoch);
    }
}

void NewName::took(Epoch epoch)
{
    if (name_.empty()) return;
    const std::lock_guard lock(held_over_fork(ForkLock::containers));
    if (known_.up_to != seen_from_) return; // another thread was faster: what it knows is enough
    for (auto& [name, at] : seen_)
        known_.epochs.emplace(std::move(name), at);
    known_.epochs.emplace(name_, epoch);
    known_.up_to = epoch;
}

} // namespace stepstore::store

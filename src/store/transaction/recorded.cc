// Recorded: the look-ups of a body, and the merge of what was committed with the transaction's own changes.
#include "store/transaction/recorded.h"

#include "store/failure.h"

namespace stepstore::store {

bool Recorded::recorded(LookKind kind, const OwnedBytes& prefix, const OwnedBytes& key, Entry& entry)
{
    Look look{kind, prefix, key};
    const bool there = look_up(now_, look, entry);
    Seen found = found_by(look, there, entry);
    looks_.insert_or_assign(std::move(look), std::move(found));
    return there;
}

bool Recorded::get(Bytes key, Bytes& value)
{
    if (const Changes::Value* mine = changes_.find(key)) {
        if (*mine) value = **mine;
        return mine->has_value();
    }
    Entry entry;
    if (!recorded(LookKind::exactly, {}, owned(key), entry)) return false;
    value = entry.value;
    return true;
}

Recorded::Found Recorded::first_from(OwnedBytes prefix, OwnedBytes key)
{
    const Changes::All& changes = changes_.all();
    auto mine = changes.lower_bound(key);
    const auto within = [&](Bytes one) { return prefix.empty() || begins_with(one, prefix); };
    for (Entry entry; recorded(LookKind::from, prefix, key, entry);
         key = owned(entry.key), key.push_back({})) {
        for (; mine != changes.end() && LessBytes()(mine->first, entry.key); ++mine)
            if (mine->second) return Entry{mine->first, *mine->second};
        const Changes::Value* changed = changes_.find(entry.key);
        if (changed == nullptr) return entry;
        if (*changed) return Entry{changes.find(entry.key)->first, **changed};
    }
    while (mine != changes.end() && !mine->second)
        ++mine;
    if (mine == changes.end() || !within(mine->first)) return {};
    return Entry{mine->first, *mine->second};
}

Recorded::Found Recorded::last_before(OwnedBytes prefix, OwnedBytes key)
{
    const Changes::All& changes = changes_.all();
    auto mine = std::make_reverse_iterator(changes.lower_bound(key));
    const auto within = [&](Bytes one) { return prefix.empty() || begins_with(one, prefix); };
    for (Entry entry; recorded(LookKind::before, prefix, key, entry); key = owned(entry.key)) {
        for (; mine != changes.rend() && LessBytes()(entry.key, mine->first); ++mine)
            if (mine->second) return Entry{mine->first, *mine->second};
        const Changes::Value* changed = changes_.find(entry.key);
        if (changed == nullptr) return entry;
        if (*changed) return Entry{changes.find(entry.key)->first, **changed};
    }
    while (mine != changes.rend() && !mine->second)
        ++mine;
    if (mine == changes.rend() || !within(mine->first)) return {};
    return Entry{mine->first, *mine->second};
}

bool Recorded::give(Bytes prefix, const Found& found, Entry& entry)
{
    if (!found) return false;
    OwnedBytes within = owned(prefix); // it may be within_ itself
    position_ = owned(found->key);
    within_ = std::move(within);
    entry = *found;
    return true;
}

bool Recorded::next(Entry& entry)
{
    if (position_.empty()) return false;
    OwnedBytes after = position_;
    after.push_back({});
    return give(within_, first_from(within_, std::move(after)), entry);
}

bool Recorded::previous(Entry& entry)
{
    return !position_.empty() && give(within_, last_before(within_, position_), entry);
}

void Recorded::put(Bytes key, Bytes value)
{
    const OwnedBytes copy = owned(value); // it may lie in what is replaced
    std::ranges::copy(copy, reserve(key, copy.size()).begin());
}

MutableBytes Recorded::reserve(Bytes key, std::size_t length)
{
    if (key.empty() || key.size() > max_key)
        fail(DER_INVAL, "a key of " + std::to_string(key.size()) + " bytes cannot be stored");
    return changes_.put(key, length);
}

bool Recorded::erase(Bytes key)
{
    Bytes value;
    if (!get(key, value)) return false;
    changes_.erase(key);
    return true;
}

} // namespace stepstore::store

#include "fields/claim.h"

#include "fields/record.h"

#include <random>

namespace stepstore::fields {

std::vector<std::byte> new_claim()
{
    std::random_device random;
    return encode_writer({std::uint64_t{random()} << 32 | random(), 0, this_process()});
}

bool is_dead_claim(Bytes claim)
{
    try {
        return life_of(decode_writer(claim, "a claim").process) == Life::dead;
    } catch (const Error& error) {
        if (error.code() != -DER_CSUM && error.code() != -DER_DF_INVAL) throw;
        return true;
    }
}

Claim::Claim(KeyValue& root, const std::string& label) : root_(root), key_(claim_prefix + label)
{
    const std::vector<std::byte> mine = new_claim();
    while (true) {
        const auto there = root_.get_nonempty(key_);
        if (there && !is_dead_claim(*there)) return;
        if (!root_.put_if(key_, there ? std::optional<Bytes>(*there) : std::nullopt, mine)) continue;
        mine_ = mine;
        return;
    }
}

Claim::~Claim()
{
    if (!held()) return;
    try {
        root_.remove_if(key_, mine_);
    } catch (...) { // it ends with this process
    }
}

bool Claim::is_taken(const KeyValue& root, const std::string& label)
{
    const auto there = root.get_nonempty(claim_prefix + label);
    return there && !is_dead_claim(*there);
}

} // namespace stepstore::fields

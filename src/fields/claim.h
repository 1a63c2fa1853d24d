// A dataset's container that the root does not name (yet, or since a wipe) belongs to the process that claims
// its label: to make it a dataset (copy), or to destroy it (purge_pool).
//
// 1. The process puts the claim into the root: before the container is made, on the condition that there is
//    none, or in the place of a dead process's.
// 2. It makes the container and names it in the root, or destroys it.
// 3. It takes the claim back, if it is still its own.
// So who finds a container that no entry names, and then takes the claim, and then finds still no entry, is
// alone with it. A process that dies leaves a claim that counts no more. One on another machine may live: its
// claim stays.
#pragma once

#include "base/not_copied.h"
#include "stepstore/client.h"

#include <string>
#include <vector>

namespace stepstore::fields {

std::vector<std::byte> new_claim(); // of this process; no other one has these bytes
bool is_dead_claim(Bytes claim);    // also a damaged one, which says nothing

class Claim : NotCopied {
public:
    Claim(KeyValue& root, const std::string& label);
    ~Claim();                                    // takes it back
    bool held() const { return !mine_.empty(); } // false: it is another living process's
    static bool is_taken(const KeyValue& root, const std::string& label);

private:
    KeyValue& root_;
    const std::string key_;
    std::vector<std::byte> mine_;
};

} // namespace stepstore::fields

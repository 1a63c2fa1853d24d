// A persistent ordered map of byte strings. An update makes a new root that shares every untouched node with
// the old one. So a root is a snapshot that costs a pointer. The map is a treap whose priorities are hashes
// of the keys, so the same content always has the same shape.
// Threads: a tree does not change, and may be shared. Errors: std::bad_alloc.
#pragma once

#include "base/bytes.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace stepstore::store::memory {

struct Node;
using Tree = std::shared_ptr<const Node>;
using Value = std::shared_ptr<std::vector<std::byte>>;

struct Node {
    std::vector<std::byte> key;
    std::uint64_t priority = 0;
    Value value;
    Tree left;
    Tree right;
};

Tree insert(const Tree& tree, Bytes key, Value value);
Tree erase(const Tree& tree, Bytes key); // the same tree when there is no such key

const Node* find(const Tree& tree, Bytes key);
// The smallest key that is greater than `key`, or equal to it where `inclusive`.
const Node* after(const Tree& tree, Bytes key, bool inclusive);
// The largest key that is less than `key`.
const Node* before(const Tree& tree, Bytes key);

} // namespace stepstore::store::memory

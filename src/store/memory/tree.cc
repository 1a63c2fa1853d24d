#include "store/memory/tree.h"

#include "base/checksum.h"

#include <algorithm>

namespace stepstore::store::memory {

namespace {

Tree with_children(const Node& node, Tree left, Tree right)
{
    return std::make_shared<const Node>(
        Node{node.key, node.priority, node.value, std::move(left), std::move(right)});
}

// Two trees, every key of `left` less than every key of `right`.
Tree join(const Tree& left, const Tree& right)
{
    if (!left) return right;
    if (!right) return left;
    if (left->priority >= right->priority) return with_children(*left, left->left, join(left->right, right));
    return with_children(*right, join(left, right->left), right->right);
}

// The keys less than `key` and those greater; `key` itself is in neither.
void split(const Tree& tree, Bytes key, Tree& less, Tree& greater)
{
    if (!tree) {
        less = greater = nullptr;
        return;
    }
    const int order = compare(key, tree->key);
    if (order == 0) {
        less = tree->left;
        greater = tree->right;
    } else if (order < 0) {
        Tree rest;
        split(tree->left, key, less, rest);
        greater = with_children(*tree, rest, tree->right);
    } else {
        Tree rest;
        split(tree->right, key, rest, greater);
        less = with_children(*tree, tree->left, rest);
    }
}

} // namespace

Tree insert(const Tree& tree, Bytes key, Value value)
{
    Tree less, greater;
    split(tree, key, less, greater);
    const Node node{{key.begin(), key.end()}, checksum(key), std::move(value), nullptr, nullptr};
    return join(join(less, std::make_shared<const Node>(node)), greater);
}

Tree erase(const Tree& tree, Bytes key)
{
    if (find(tree, key) == nullptr) return tree;
    Tree less, greater;
    split(tree, key, less, greater);
    return join(less, greater);
}

const Node* find(const Tree& tree, Bytes key)
{
    const Node* node = after(tree, key, true);
    return node != nullptr && compare(key, node->key) == 0 ? node : nullptr;
}

const Node* after(const Tree& tree, Bytes key, bool inclusive)
{
    const Node* best = nullptr;
    const Node* node = tree.get();
    while (node != nullptr) {
        const int order = compare(key, node->key);
        if (order == 0 && inclusive) return node;
        if (order < 0) {
            best = node;
            node = node->left.get();
        } else {
            node = node->right.get();
        }
    }
    return best;
}

const Node* before(const Tree& tree, Bytes key)
{
    const Node* best = nullptr;
    const Node* node = tree.get();
    while (node != nullptr) {
        if (compare(key, node->key) > 0) {
            best = node;
            node = node->right.get();
        } else {
            node = node->left.get();
        }
    }
    return best;
}

} // namespace stepstore::store::memory

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

Tree insert(const Tree& tree, std::uint64_t priority, Bytes key, Value& value)
{
    if (tree) {
        const int order = compare(key, tree->key);
        if (order == 0) {
            return std::make_shared<const Node>(
                Node{tree->key, tree->priority, std::move(value), tree->left, tree->right});
        }
        if (tree->priority >= priority) {
            if (order < 0) return with_children(*tree, insert(tree->left, priority, key, value), tree->right);
            return with_children(*tree, tree->left, insert(tree->right, priority, key, value));
        }
    }
    Node node{{key.begin(), key.end()}, priority, std::move(value), nullptr, nullptr};
    split(tree, key, node.left, node.right);
    return std::make_shared<const Node>(std::move(node));
}

} // namespace

int compare(Bytes a, Bytes b)
{
    const std::size_t common = std::min(a.size(), b.size());
    const int order = common == 0 ? 0 : std::memcmp(a.data(), b.data(), common);
    if (order != 0) return order;
    return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
}

Tree insert(const Tree& tree, Bytes key, Value value)
{
    return insert(tree, checksum(key), key, value);
}

Tree erase(const Tree& tree, Bytes key)
{
    if (!tree) return nullptr;
    const int order = compare(key, tree->key);
    if (order == 0) return join(tree->left, tree->right);
    const Tree& child = order < 0 ? tree->left : tree->right;
    Tree changed = erase(child, key);
    if (changed == child) return tree;
    return order < 0 ? with_children(*tree, std::move(changed), tree->right)
                     : with_children(*tree, tree->left, std::move(changed));
}

const Node* find(const Tree& tree, Bytes key)
{
    const Node* node = tree.get();
    while (node != nullptr) {
        const int order = compare(key, node->key);
        if (order == 0) return node;
        node = order < 0 ? node->left.get() : node->right.get();
    }
    return nullptr;
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

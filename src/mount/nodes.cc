#include "mount/nodes.h"

#include <ctime>

namespace stepstore::mounting {
namespace {

constexpr std::chrono::seconds believed{1};

} // namespace

Object owned(dfs_obj_t* opened)
{
    return {opened, [](dfs_obj_t* object) { dfs_release(object); }};
}

daos_obj_id_t id_of(const Object& object)
{
    daos_obj_id_t oid{};
    dfs_obj2id(object.get(), &oid);
    return oid;
}

Nodes::Nodes(Object root)
{
    root_.oid = id_of(root);
    root_.kind = S_IFDIR;
    root_.object = std::move(root);
}

Node* Nodes::find(daos_obj_id_t oid)
{
    const auto found = nodes_.find({oid.hi, oid.lo});
    return found == nodes_.end() ? nullptr : found->second.get();
}

Object Nodes::object(const Node& node)
{
    const std::lock_guard lock(mutex_);
    return node.object;
}

Node& Nodes::looked_up(const Object& object, mode_t mode)
{
    const daos_obj_id_t oid = id_of(object);
    const std::lock_guard lock(mutex_);
    auto& node = nodes_[{oid.hi, oid.lo}];
    if (!node) {
        node = std::make_unique<Node>();
        node->oid = oid;
        node->kind = mode & S_IFMT;
    }
    node->object = object;
    node->lookups++;
    return *node;
}

void Nodes::forget(Node& node, std::uint64_t lookups)
{
    if (&node == &root_) return;
    Object last; // released without the lock
    const std::lock_guard lock(mutex_);
    node.lookups -= std::min(lookups, node.lookups);
    if (node.lookups != 0) return;
    last = std::move(node.object);
    nodes_.erase({node.oid.hi, node.oid.lo});
}

void Nodes::moved(const Object& object)
{
    const daos_obj_id_t oid = id_of(object);
    const std::lock_guard lock(mutex_);
    if (Node* const node = find(oid)) node->object = object;
}

void Nodes::open(Node& node)
{
    const std::lock_guard lock(mutex_);
    node.opens++;
}

std::pair<Object, std::string> Nodes::close(Node& node)
{
    const std::lock_guard lock(mutex_);
    if (--node.opens != 0) return {};
    return {std::exchange(node.hidden_in, nullptr), std::exchange(node.hidden_as, {})};
}

bool Nodes::is_open(daos_obj_id_t oid)
{
    const std::lock_guard lock(mutex_);
    const Node* const node = find(oid);
    return node && node->opens != 0;
}

void Nodes::hidden(const Object& object, Object directory, std::string name)
{
    const daos_obj_id_t oid = id_of(object);
    const std::lock_guard lock(mutex_);
    Node* const node = find(oid);
    if (!node) return;
    node->object = object;
    node->hidden_in = std::move(directory);
    node->hidden_as = std::move(name);
}

bool Nodes::known(const Node& node, struct stat& status, double& seconds)
{
    const std::lock_guard lock(mutex_);
    seconds = std::chrono::duration<double>(node.known_until - Clock::now()).count();
    if (seconds <= 0) return false;
    status = node.status;
    return true;
}

std::uint64_t Nodes::changes(const Node& node)
{
    const std::lock_guard lock(mutex_);
    return node.changes;
}

double Nodes::keep(Node& node, const struct stat& status, std::uint64_t changes)
{
    const std::lock_guard lock(mutex_);
    if (node.changes != changes) return 0;
    node.status = status;
    node.known_until = Clock::now() + believed;
    return std::chrono::duration<double>(believed).count();
}

void Nodes::entry_changed(Node& directory)
{
    const std::lock_guard lock(mutex_);
    directory.changes++;
    clock_gettime(CLOCK_REALTIME, &directory.status.st_mtim);
    directory.status.st_ctim = directory.status.st_mtim;
}

void Nodes::attributes_changed(Node& node)
{
    const std::lock_guard lock(mutex_);
    node.changes++;
    node.known_until = {};
}

} // namespace stepstore::mounting

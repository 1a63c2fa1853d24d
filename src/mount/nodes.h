// Nodes: the objects of the container that the kernel knows, each with the place where it was last seen.
//
// A node is one object, whatever its name is. The kernel refers to it by its address until it has forgotten
// all that it looked up. Its dfs_obj_t is replaced when the object is seen at another place; requests that
// are under way go on with the old one.
//
// Threads: any. Errors: std::bad_alloc.
#pragma once

#include <chrono>
#include <daos.h>
#include <daos_fs.h>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace stepstore::mounting {

using Object = std::shared_ptr<dfs_obj_t>; // released with its last owner

Object owned(dfs_obj_t* opened);
daos_obj_id_t id_of(const Object& object);

struct Node {
    daos_obj_id_t oid{};
    mode_t kind = 0; // S_IFMT

    // Guarded by Nodes:
    Object object;
    std::uint64_t lookups = 0;
    unsigned opens = 0;
    Object hidden_in; // a file that was removed while it was open: its directory, and its name there
    std::string hidden_as;
    // Of a directory, for a second (mount.h): what stat() tells.
    struct stat status {};
    std::chrono::steady_clock::time_point known_until{};
    std::uint64_t changes = 0;
};

class Nodes {
public:
    explicit Nodes(Object root);

    Node& root() { return root_; }
    Object object(const Node& node);

    // The node of an object, which is now where `object` says, with one more lookup.
    Node& looked_up(const Object& object, mode_t mode);
    void forget(Node& node, std::uint64_t lookups);
    // If the kernel knows the object: it is now there.
    void moved(const Object& object);

    // Of a file. close() gives the hidden place of one that was the last, and then ends.
    void open(Node& node);
    std::pair<Object, std::string> close(Node& node);
    // If the object is open here: true, and its last close gives the place.
    bool is_open(daos_obj_id_t oid);
    void hidden(const Object& object, Object directory, std::string name);

    // What is known of a directory: false: nothing. seconds: how long it is still to be believed.
    bool known(const Node& node, struct stat& status, double& seconds);
    std::uint64_t changes(const Node& node);
    // changes: of before the question. If there was one in between the answer is not kept.
    double keep(Node& node, const struct stat& status, std::uint64_t changes);
    void entry_changed(Node& directory); // by this mount
    void attributes_changed(Node& node);

private:
    using Clock = std::chrono::steady_clock;
    using Key = std::pair<std::uint64_t, std::uint64_t>;
    Node* find(daos_obj_id_t oid); // with the mutex held

    std::mutex mutex_; // guards what follows, and what Node says
    Node root_;
    std::map<Key, std::unique_ptr<Node>> nodes_;
};

} // namespace stepstore::mounting

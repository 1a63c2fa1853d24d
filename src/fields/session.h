// A pool with fields in it: its root key-value, which names the datasets, and the open handles of this
// process.
//
// Durability. What is archived is invisible until flush() (store.h, catalogue.h). It returns when everything
// archived by that object is indexed, visible and synced to the medium, at either durability. With
// durability=process that holds until the next update of the pool. A power failure during a write can then
// cost whole indexes (docs/format.md); the death of processes never costs anything. With durability=power
// nothing that was flushed is lost. An archive of record belongs into a pool with durability=power.
//
// Threads. Every class here may be used by several threads at once unless it says otherwise. Objects keep
// open what they need, in any order of destruction. After a fork both processes may go on, with numbers,
// packs and locks of their own. What was archived and not flushed stays the parent's.
//
// Errors. stepstore::Error with a DER_* code. -DER_NONEXIST: no such pool. -DER_STALE: what was open is gone:
// "the dataset ... was wiped". -DER_MISMATCH: another schema. -DER_NO_PERM: locked. A missing dataset or
// field is no error.
#pragma once

#include "base/own_state.h"
#include "client/lease.h"
#include "fields/dataset.h"
#include "fields/key.h"
#include "fields/options.h"
#include "stepstore/client.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stepstore::fields {

struct DatasetEntry {
    Key key;
    std::string container; // the label of its container
};

class Session : public std::enable_shared_from_this<Session> {
public:
    // The process's one session on a pool for this access: opened at the first call, kept for the life of the
    // process (or until release()). location: as Pool::connect takes it. -DER_NONEXIST: there is no pool
    // there.
    static std::shared_ptr<Session> open(const std::string& location, Access access);
    // One of the caller's own: for a simulation, whose processes are in one.
    static std::shared_ptr<Session> open_own(const std::string& location, Access access);
    // Lets go of all sessions of the process that nobody else holds; for tests and for programs that destroy
    // pools.
    static void release();

    // The dataset, to write: made if it is not there, by the first of all processes that ask. `schema`: a
    // text that belongs to it; stored by the process that makes it; -DER_MISMATCH when another one is stored
    // and `schema` is not empty. Opened once per process and cached; a cached one that was wiped meanwhile is
    // opened (made) again.
    std::shared_ptr<Dataset> create(const Key& key, const DatasetOptions& options = {},
                                    const std::string& schema = {});
    // To read, or to write what is there. nullptr: there is none. Never makes anything.
    std::shared_ptr<Dataset> find(const Key& key);
    // The dataset whose container has this label: for locations that name the container. nullptr: wiped, or
    // never was.
    std::shared_ptr<Dataset> find_container(const std::string& label);
    // Whether a dataset is said to lie in it. Costs a look at all datasets.
    bool lists(const std::string& label) const;

    // Every dataset whose key matches, in no promised order, until `each` returns false. One listing of the
    // root key-value; opens nothing.
    void datasets(const Request& request, const std::function<bool(const DatasetEntry&)>& each) const;

    const Pool& pool() const { return pool_; }
    const std::string& location() const { return pool_.location(); }
    Access access() const { return access_; }

    // ---- for the parts of this library
    // The end of a flush: all that this process did survives a power failure. It may need something of
    // others: a root entry, a dataset, the record of an index. The first flush after it was met syncs that
    // too.
    void sync_flushed();
    void met_others_work(); // this depends on what another process may have made, and not synced
    // The container's label of the root's entry. nullopt: none.
    std::optional<std::string> root_entry(const std::string& key) const;
    // Takes the dataset out of the root, if it still is that container's. False: somebody else did.
    bool remove_root_entry(const std::string& key, const std::string& container);
    bool put_root_entry(const std::string& key, const std::string& container); // false: there is one
    void forget(const std::string& key);
    // The right to make a dataset of the container of this label, or to destroy it while the root does not
    // name it. A process takes it before the container is made, and gives it back when the root names the
    // container, or it is destroyed. So if a process finds a container that no entry names, takes the claim,
    // and still finds no entry, it is alone with the container. Not taken yet. The root is made if needed.
    Lease claim(const std::string& label) const;
    bool is_claimed(const std::string& label) const;
    std::string make_label(const Key& key); // of a new dataset's container
    std::shared_ptr<Dataset> make_dataset(const std::string& label, const Key& key,
                                          const DatasetOptions& options, const std::string& schema);
    std::shared_ptr<Dataset> open_labelled(const std::string& label, const std::string& text);

    ~Session();

private:
    Session(Pool pool, Access access);
    KeyValue* root(bool make) const;
    KeyValue* locked_root(bool make) const;
    std::string root_entry_name(const std::string& key) const; // for messages
    void forget_all();
    std::shared_ptr<Dataset> dataset_in(Container& container, const std::string& text);
    std::shared_ptr<Dataset> cached(const std::string& text, const std::string& label) const;
    std::shared_ptr<Dataset> cache(std::shared_ptr<Dataset> dataset);

    struct Cache;
    Pool pool_;
    Access access_;
    PerProcess<OwnState::field_session, Cache> cache_;
};

// Others may do the same: one that is gone already is no error.
void destroy_container(const Pool& pool, const std::string& label);

} // namespace stepstore::fields

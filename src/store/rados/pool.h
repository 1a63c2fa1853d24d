// A pool on a Ceph cluster as this process has it open, shared by all who opened it.
//
// Objects, all with names that begin with "stepstore":
//   stepstore             the header: lines of text. It exists while the pool does, and comes first and last.
//   ID.m, ID.t.N          the indexes of meta and of target N
//   ID.x.N.FILE.PIECE     parts of extents
// ID is "stepstore." and 16 random digits of the pool: what a dead maker left is never taken for a part of
// the pool that comes after. Parts of extents lie in the same namespace of the data pool, where the Ceph pool
// names one. It may be erasure-coded. Pools of several Ceph pools may share it, and others the namespace.
//
// So the data pool says itself whose parts it holds: ID.o, the owner's record there, names the Ceph pool of
// the header. Who can write the header, but not the data pool, cannot forge it. A pool whose data pool does
// not say so is not opened, and none of its processes removes anything there.
//
// Making: 1. The header is created, exclusively, with the state "making". 2. The owner's record. 3. The
// indexes. 4. What the pool begins with. 5. The state becomes "ready", if the header is still the maker's.
// Removing: 1. The state becomes "removing", on condition that it was not changed meanwhile. 2. The parts of
// extents go, if they are the pool's, and then the owner's record. 3. All other objects that begin with ID.
// 4. The header. A process that makes or updates a pool watches the header. So what a dead maker left is told
// from one at work.
//
// Threads: any. Errors: DER_DF_INVAL and DER_DF_INCOMPT of a header, DER_STALE if the pool was removed
// meanwhile, and those of the cluster.
#pragma once

#include "store/rados/target.h"

#include <deque>
#include <optional>

namespace stepstore::store::rados {

inline constexpr char header_object[] = "stepstore";

struct Header {
    std::string id; // 16 hexadecimal digits
    unsigned targets = 0;
    Durability durability = Durability::process;
    std::string state;      // making, ready, removing
    std::int64_t data = -1; // number of the Ceph pool with the parts of extents; -1: the pool's own

    bool has_data_pool() const { return data >= 0; }
    std::string encoded() const;
    // DER_DF_INVAL, DER_DF_INCOMPT
    static Header decode(const std::string& text, const std::string& where);
    std::string objects() const { return std::string(header_object) + "." + id; }
    std::string extents() const { return objects() + ".x."; } // how the names of their parts begin
    std::string owner_object() const { return objects() + ".o"; }
};

// What the owner's record in the data pool says of a pool whose header lies in this Ceph pool.
std::string owner_record(Io& io);
bool is_owner(Io& io, Io& data, const Header& header);
[[noreturn]] void fail_not_owner(Io& io, const Header& header);

struct FoundHeader {
    Header header;
    std::uint64_t version = 0; // of the object
};
// Nothing: there is none.
std::optional<FoundHeader> read_header(Io& io);
// Connections that watch the header.
std::set<std::uint64_t> living(Io& io);
// The same without this process's, and without what only looks like one. A process that dies while the
// cluster takes its watch may be listed for good, as nothing ends that watch (seen with Ceph 16.2). No notify
// goes to it. Takes a second where a living process does not answer.
std::set<std::uint64_t> others_living(Io& io);

// Watches the header as long as it lives.
class Watch : NotCopied {
public:
    explicit Watch(Io& io);
    ~Watch();
    // Others may have taken this process for dead, or will soon.
    bool lost() const;

private:
    struct Watcher final : librados::WatchCtx2 {
        explicit Watcher(const librados::IoCtx& of) : context(of) {}
        void handle_notify(std::uint64_t notify, std::uint64_t handle, std::uint64_t, Buffer&) override;
        void handle_error(std::uint64_t, int) override { lost = true; }
        librados::IoCtx context;
        std::atomic<bool> lost{false};
    };
    Io& io_;
    const std::shared_ptr<Watcher> watcher_;
    std::uint64_t handle_ = 0;
};

class RadosPool : NotCopied {
public:
    RadosPool(std::unique_ptr<Io> io, Header header);
    ~RadosPool();

    const Header& header() const { return header_; }
    Target& target(unsigned index) { return *targets_[index]; }
    Target& meta() { return *targets_.back(); }
    Io& io() { return *io_; }
    void claim();

private:
    bool watched_anew();
    void clean_up();

    const std::unique_ptr<Io> io_;
    const Header header_;
    const std::unique_ptr<Io> data_; // nullptr: io_
    std::unique_ptr<Index> meta_index_;
    std::unique_ptr<Client> client_;
    std::vector<std::unique_ptr<RadosTarget>> targets_; // meta last
    std::mutex claiming_;                               // guards watch_
    std::unique_ptr<Watch> watch_;
};

} // namespace stepstore::store::rados

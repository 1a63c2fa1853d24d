// The parts of Pool::check.
//
// A check takes no lock and may run beside writers. It sees meta and each target at different moments, each
// in one read transaction. While others write, these need not agree. So what looks wrong between them is
// looked at again before it is reported (confirmed()).
//
// Threads: one for each Check. Errors: damage becomes a finding; what says nothing of the pool is thrown
// (says_damage()).
#pragma once

#include "store/object.h"
#include "store/pool_core.h"
#include "store/store.h"

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace stepstore::store {

// What meta says there is.
struct MetaView {
    std::map<std::uint32_t, ContainerRecord> containers;
    std::set<std::uint32_t> destroying;
    std::set<std::uint32_t> with_attributes;
    std::set<std::pair<std::uint32_t, Epoch>> snapshots; // not those being removed
    std::set<std::pair<std::uint32_t, Epoch>> removing;
    std::set<std::pair<std::uint32_t, Epoch>> marked; // that have markers of objects
};

class Check {
public:
    Check(Storage& storage, const CheckOptions& options, CheckReport& report)
        : storage_(storage), options_(options), report_(report), pool_("pool " + storage.path())
    {
    }
    void run();
    // Containers with marks of snapshots that were never finished.
    const std::set<std::uint32_t>& unfinished_snapshots() const { return unfinished_; }
    // Objects whose removal, or that of their end, was begun and not finished.
    const std::set<std::pair<std::uint32_t, ObjectId>>& unfinished_removals() const { return half_removed_; }
    // Chunks that have extents of arrays whose akeys were punched.
    const std::set<std::tuple<std::uint32_t, ObjectId, std::uint64_t>>& left_over() const
    {
        return left_over_;
    }
    // Numbers with marks of containers whose making was interrupted.
    const std::set<std::uint32_t>& unfinished_containers() const { return never_made_; }

private:
    using Severity = CheckFinding::Severity;

    // check_meta.cc
    void check_meta();
    void read_meta(MetaView& view, bool report);
    void meta_entry(MetaView& view, const Entry& entry, std::map<std::string, std::uint32_t>& names,
                    bool report);
    void check_labels(const MetaView& view, const std::map<std::string, std::uint32_t>& names);

    // check_target.cc
    struct TargetWalk;
    void check_target(unsigned index);
    void walk(unsigned index, ReadTransaction& transaction, TargetWalk& walk);
    void walk_record(unsigned index, ReadTransaction& transaction, TargetWalk& walk, const Entry& entry);
    void check_place(unsigned index, TargetWalk& walk, const ParsedKey& parsed, const Record& record,
                     const Entry& entry);
    void check_damaged(unsigned index, const TargetWalk& walk);
    void check_copy(unsigned index, unsigned other, Bytes key);
    void check_overlap(unsigned index, TargetWalk& walk, const ParsedKey& parsed, const Record& record);
    bool holds(unsigned index, const KeyBuffer& key);
    void check_removals(unsigned index, const TargetWalk& walk);
    void check_pending(unsigned index, const TargetWalk& walk);
    static void check_akey(TargetWalk& walk, const ParsedKey& parsed, const Record& record);
    void check_left_over(unsigned index, const TargetWalk& walk);
    void check_snapshots(unsigned index, const TargetWalk& walk);
    void check_strangers(unsigned index, const TargetWalk& walk);

    // check_bulk.cc
    void check_bulk_data(unsigned index);
    void check_extents(unsigned index, const std::vector<Target::ExtentFile>& before,
                       std::vector<ExtentRef>& references, const std::vector<ExtentRef>& replaced);
    void check_file(unsigned index, const Target::ExtentFile& before, const Target::ExtentFile& now,
                    std::span<const ExtentRef> references);
    void name_references(unsigned index, const ExtentRef& extent, const std::string& what);

    void find(Severity severity, std::string where, std::string what, std::string advice);
    std::string target_name(unsigned index) const { return pool_ + ", target " + std::to_string(index); }
    std::string container_name(std::uint32_t id) const;
    std::string record_name(unsigned index, Bytes key) const;
    // True when `wrong` holds again and again, some time apart.
    static bool confirmed(FunctionRef<bool()> wrong);
    bool container_known(std::uint32_t id);

    Storage& storage_;
    const CheckOptions& options_;
    CheckReport& report_;
    const std::string pool_;
    MetaView meta_;
    Uuid uuid_{};
    bool header_good_ = false;
    std::set<std::pair<std::uint32_t, ObjectId>> objects_;
    std::set<std::uint32_t> unfinished_;
    std::set<std::uint32_t> never_made_;
    std::set<std::pair<std::uint32_t, ObjectId>> half_removed_;
    std::set<std::tuple<std::uint32_t, ObjectId, std::uint64_t>> left_over_;
};

} // namespace stepstore::store

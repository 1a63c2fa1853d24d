// What fdb-move does with a dataset: copies it into another of the configured pools and, unless it shall be
// kept, wipes it here.
//
// In FDB moving is copying files: the visitor gives out file copies. Its caller makes them, and removes the
// sources unless --keep was given. Here the visitor copies the dataset itself, and gives out copies of two
// marker files. FDB removes the first at once, and the second after the --delay.
//
// 1. FDB has locked the source against archiving and wiping.
// 2. The copy appears in the other pool, whole. It has the source's locks, and an attribute that names the
//    source. From here on nobody is shown the source any more (drop_moved()).
// 3. When the caller removes the second marker, the visitor wipes the source. When the caller drops the queue
//    first (--keep), the source stays.
// 4. The attribute and the locks of the copy are removed.
//
// A process that dies before 2 leaves a locked source, and a container that no root names. One that dies
// later leaves a locked copy with the attribute. The same fdb-move again finishes either: it removes such a
// container (purge_pool()), and takes a copy with the attribute as its own.
//
// Threads: the caller's alone. Errors: FDB's (failure.h); the source stays as it was.
#pragma once

#include "settings.h"

#include "fields/session.h"

#include "fdb5/database/MoveVisitor.h"

#include "eckit/container/Queue.h"
#include "eckit/filesystem/URI.h"
#include "fdb5/api/helpers/MoveIterator.h"

#include <memory>
#include <string>
#include <vector>

namespace stepstore::fdb_plugin {

// What a configuration shows of a dataset key: its dataset in each pool that has one.
struct ShownDataset {
    std::shared_ptr<fields::Session> session;
    fields::DatasetEntry entry;
};
// Leaves out what was moved, or is being moved, to another of them.
void drop_moved(std::vector<ShownDataset>& datasets);

class MoveVisitor final : public fdb5::MoveVisitor {
public:
    MoveVisitor(std::shared_ptr<fields::Dataset> dataset, const Settings& settings,
                const metkit::mars::MarsRequest& request, const eckit::URI& destination,
                eckit::Queue<fdb5::MoveElement>& queue);

    bool visitDatabase(const fdb5::Catalogue& catalogue) override;

private:
    std::string destination_pool() const;
    std::shared_ptr<fields::Dataset> copy_to(const std::string& pool) const;
    std::shared_ptr<fields::Dataset> source_to_wipe(const fields::Dataset& copy) const;

    std::shared_ptr<fields::Dataset> dataset_; // the source, or the copy of a move that was not finished
    const Settings& settings_;
    eckit::Queue<fdb5::MoveElement>& queue_;
};

} // namespace stepstore::fdb_plugin

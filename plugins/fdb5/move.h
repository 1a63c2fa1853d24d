// What fdb-move does with a dataset: copies it into another of the configured pools and, unless it shall be
// kept, wipes it here.
//
// In FDB moving is copying files: the visitor gives out file copies. Its caller makes them, and removes the
// sources unless --keep was given. Here the visitor copies the dataset itself, and gives out one copy, of a
// marker file. When the caller removes the marker, the visitor wipes the source. When the caller drops the
// queue first, the source stays.
#pragma once

#include "settings.h"

#include "fdb5/database/MoveVisitor.h"

#include "eckit/container/Queue.h"
#include "eckit/filesystem/URI.h"
#include "fdb5/api/helpers/MoveIterator.h"

namespace stepstore::fdb_plugin {

class MoveVisitor final : public fdb5::MoveVisitor {
public:
    MoveVisitor(std::shared_ptr<fields::Dataset> dataset, const Settings& settings,
                const metkit::mars::MarsRequest& request, const eckit::URI& destination,
                eckit::Queue<fdb5::MoveElement>& queue);

    bool visitDatabase(const fdb5::Catalogue& catalogue) override;

private:
    std::string destination_pool() const;
    void copy_to(const std::string& pool) const;

    std::shared_ptr<fields::Dataset> dataset_;
    const Settings& settings_;
    eckit::Queue<fdb5::MoveElement>& queue_;
};

} // namespace stepstore::fdb_plugin

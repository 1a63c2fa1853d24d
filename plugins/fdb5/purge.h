// What fdb-purge does with a dataset: reclaims what no field needs.
// Threads: one at a time. Errors: FDB's (failure.h).
#pragma once

#include "statistics.h"

#include "fdb5/database/PurgeVisitor.h"
#include "fdb5/database/Store.h"

namespace stepstore::fdb_plugin {

class PurgeVisitor final : public fdb5::PurgeVisitor, public StatisticsVisitor {
public:
    // store: where fields elsewhere lie; of use when it is not ours.
    PurgeVisitor(std::shared_ptr<fields::Dataset> dataset, const fdb5::Store& store)
        : StatisticsVisitor(std::move(dataset)), store_(store)
    {
    }

    void report(std::ostream& out) const override;
    void purge(std::ostream& out, bool porcelain, bool doit) const override;

private:
    const fdb5::Store& store_;
};

} // namespace stepstore::fdb_plugin

#include "purge.h"

#include "failure.h"
#include "field_location.h"
#include "fields/session.h"
#include "settings.h"
#include "uri.h"

#include "base/own_state.h"

#include <mutex>
#include <ostream>
#include <set>

namespace stepstore::fdb_plugin {
namespace {

// Containers of the pool that no dataset has any more. No request names them, so the first purge in the pool
// by this process takes them.
void purge_left_containers(fields::Session& session, const std::string& before, bool doit, std::ostream& out)
{
    struct Purged {
        std::mutex guard; // of OwnState::fdb_client: guards pools
        std::set<std::pair<std::string, bool>> pools;
    };
    static const PerProcess<OwnState::fdb_client, Purged> all([] { return std::make_unique<Purged>(); });
    {
        Purged& purged = *all;
        const std::lock_guard lock(purged.guard);
        if (!purged.pools.emplace(session.location(), doit).second) return;
    }
    for (const auto& label : fields::purge_pool(session, !doit))
        out << before << to_uri({.pool = session.location(), .container = label}).asRawString() << '\n';
}

// The field, or the whole object of which nothing was ever flushed.
std::string uri_text(const std::shared_ptr<fields::Dataset>& dataset, const fields::Unneeded& unneeded)
{
    const StepstoreFieldLocation location(dataset, unneeded.location);
    const bool object = unneeded.reason == fields::Unneeded::Reason::never_flushed;
    return (object ? location.uri() : location.fullUri()).asRawString();
}

} // namespace

void PurgeVisitor::report(std::ostream& out) const
{
    fields::PurgeOptions options;
    options.dry_run = true;
    const auto found = translated([&] { return fields::purge(dataset_, options); });
    out << "Purge report of " << dataset_->name() << '\n';
    indexStatistics().report(out, "    ");
    out << "    Replaced or removed fields : " << found.masked_fields << '\n'
        << "    Objects to reclaim         : " << found.objects << " (" << found.bytes << " bytes)\n"
        << "    of them never flushed      : " << found.unreferenced << '\n'
        << "    Index pages to merge       : " << found.pages << '\n';
    if (found.unseen_writers > 0) {
        out << "    Left alone: what " << found.unseen_writers
            << " writers on other machines archived and have not flushed\n";
    }
}

// Files of another store are removed when no field refers to them any more.
void PurgeVisitor::purge(std::ostream& out, bool porcelain, bool doit) const
{
    translated([&] {
        auto changed = doit ? find_dataset(pool_uri_of(*dataset_), Access::read_write) : dataset_;
        fields::PurgeOptions options;
        options.dry_run = !doit;
        options.found = [&](const fields::Unneeded& unneeded) {
            out << (porcelain ? "" : "Removing: ") << uri_text(dataset_, unneeded) << '\n';
        };
        if (!changed) return; // wiped meanwhile
        const auto report = fields::purge(changed, options);
        purge_left_containers(changed->session(), porcelain ? "" : "Removing: ", doit, out);
        std::set<eckit::URI> files;
        for (const auto& text : report.foreign)
            files.insert(to_fdb(fields::Location(text), dataset_)->uri());
        std::ostream nowhere(nullptr);
        for (const auto& file : files)
            if (!foreign_.contains(file.asRawString()) && store_.uriBelongs(file))
                store_.remove(file, out, porcelain ? nowhere : out, doit);
    });
}

} // namespace stepstore::fdb_plugin

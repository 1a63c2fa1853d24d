#include "move.h"

#include "control.h"
#include "failure.h"
#include "keys.h"

#include "fields/maintenance.h"

#include "daos_errno.h"

#include "fdb5/database/Catalogue.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

namespace stepstore::fdb_plugin {
namespace {

namespace fs = std::filesystem;

// The file whose removal says that the source is to go, another one, and a folder for FDB to copy them into.
class Markers {
public:
    Markers()
    {
        std::string pattern = (fs::temp_directory_path() / "stepstore-move-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr) {
            refuse("cannot make a folder " + pattern +
                   " for the move: set TMPDIR to a directory that this user can write");
        }
        folder_ = pattern;
        fs::create_directory(folder_ / "copied");
        std::ofstream(folder_ / source)
            << "The dataset was copied; when this file is removed, its source is wiped.\n";
        std::ofstream(folder_ / copied) << "The dataset was copied.\n";
    }
    ~Markers()
    {
        std::error_code ignored; // it is in the folder for temporary files
        fs::remove_all(folder_, ignored);
    }
    Markers(const Markers&) = delete;
    Markers& operator=(const Markers&) = delete;

    // FDB removes what is to be copied in the end (sync) first, and the others after its --delay.
    fdb5::FileCopy of_the_source() const { return copy(source, false); }
    fdb5::FileCopy of_the_copy() const { return copy(copied, true); }
    bool source_removed() const { return !fs::exists(folder_ / source); }

private:
    fdb5::FileCopy copy(const char* name, bool sync) const
    {
        return {folder_.string(), (folder_ / "copied").string(), name, sync};
    }

    static constexpr const char* source = "source";
    static constexpr const char* copied = "copy";
    fs::path folder_;
};

// The attribute of a copy that names the source: the container's label, a line's end, the pool.
constexpr const char* moved_from = "moved from";

std::string text_of(const std::string& container, const std::string& pool)
{
    return container + '\n' + pool;
}

std::optional<PoolUri> source_of(const fields::Dataset& copy)
{
    const auto text = copy.attribute(moved_from);
    if (!text) return std::nullopt;
    const std::size_t end = text->find('\n');
    if (end == std::string::npos || end == 0 || end + 1 == text->size())
        refuse(copy.name() + " is damaged: its attribute '" + moved_from + "' names no dataset");
    return PoolUri{.pool = text->substr(end + 1), .container = text->substr(0, end)};
}

fdb5::ControlIdentifiers locked_by_fdb()
{
    return fdb5::ControlIdentifier::Archive | fdb5::ControlIdentifier::Wipe |
           fdb5::ControlIdentifier::UniqueRoot;
}

} // namespace

MoveVisitor::MoveVisitor(std::shared_ptr<fields::Dataset> dataset, const Settings& settings,
                         const metkit::mars::MarsRequest& request, const eckit::URI& destination,
                         eckit::Queue<fdb5::MoveElement>& queue)
    : fdb5::MoveVisitor(request, destination), dataset_(std::move(dataset)), settings_(settings),
      queue_(queue)
{
}

std::string MoveVisitor::destination_pool() const
{
    std::string pools;
    for (const auto& [pool, off, regex] : settings_.pools.all()) {
        if (!off.enabled(fdb5::ControlIdentifier::Wipe) || !regex.match(fingerprint(dataset_->key())))
            continue; // as FDB chooses the roots to move to
        if (same_pool(pool, dest_.name()) || pool == dest_.asRawString()) {
            const bool here = same_pool(pool, dataset_->session().location());
            const bool unfinished = source_of(*dataset_).has_value();
            if (here && !unfinished) refuse(dataset_->name() + " is in " + pool + " already");
            if (!here && unfinished)
                refuse(dataset_->name() + " came by a move that was not finished: first move it to pool " +
                       dataset_->session().location() + " again");
            return pool;
        }
        pools += (pools.empty() ? "" : ", ") + pool;
    }
    refuse("cannot move " + dataset_->name() + " to " + dest_.asRawString() +
           ": the destination must be one of stepstore.pools: " + pools);
}

std::shared_ptr<fields::Dataset> MoveVisitor::copy_to(const std::string& pool) const
{
    const auto destination = session_to_write(pool, settings_.pool);
    fields::purge_pool(*destination); // what a move has left that was killed before
    const auto& source = dataset_->session().location();
    fields::copy(dataset_, *destination, dataset_->key(),
                 {{moved_from, text_of(dataset_->container_label(), source)}});
    auto copied = destination->find(dataset_->key());
    if (!copied) refuse(dataset_->name() + ": its copy in " + pool + " was wiped at once");
    return copied;
}

// What the copy names is believed only if fdb-move could have moved it: another dataset of this key, in a
// pool of the configuration that may be wiped. nullptr: it is gone.
std::shared_ptr<fields::Dataset> MoveVisitor::source_to_wipe(const fields::Dataset& copy) const
{
    const auto from = source_of(copy);
    if (!from) return nullptr;
    const ConfiguredPool* const pool = settings_.pools.find(from->pool);
    if (pool == nullptr || !pool->allows(fdb5::ControlIdentifier::Wipe)) {
        refuse(copy.name() + " was copied from pool " + from->pool +
               ", by a move that was not finished. Add this pool to stepstore.pools, and move again");
    }
    auto source = find_dataset(*from, Access::read_write);
    if (source && (source->key() != copy.key() || pool_uri_of(*source).same_dataset(pool_uri_of(copy))))
        refuse(copy.name() + " is damaged: it says that it was copied from " + source->name());
    return source;
}

bool MoveVisitor::visitDatabase(const fdb5::Catalogue&)
{
    translated([&] {
        const std::string pool = destination_pool();
        std::shared_ptr<fields::Dataset> copied;
        if (same_pool(pool, dataset_->session().location())) { // a move that was not finished
            copied = find_dataset(pool_uri_of(*dataset_), Access::read_write);
            if (!copied) refuse(dataset_->name() + " was wiped");
        } else {
            copied = copy_to(pool);
        }
        const auto source = source_to_wipe(*copied);
        const Markers markers;
        queue_.push(markers.of_the_source());
        queue_.push(markers.of_the_copy());
        while (!markers.source_removed() && !queue_.closed())
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        if (source && markers.source_removed()) // else --keep
            fields::wipe(source->session(), source->key());
        copied->remove_attribute(moved_from);
        set_enabled(*copied, locked_by_fdb(), true); // the copy took the locks over
    });
    return false; // the indexes went along
}

void drop_moved(std::vector<ShownDataset>& datasets)
{
    std::vector<PoolUri> moved;
    for (const auto& shown : datasets) {
        const auto dataset = shown.session->find_container(shown.entry.container);
        if (const auto from = dataset ? source_of(*dataset) : std::nullopt) moved.push_back(*from);
    }
    std::erase_if(datasets, [&](const ShownDataset& shown) { // each pool has such labels of its own
        return std::ranges::any_of(moved, [&](const PoolUri& from) {
            return from.container == shown.entry.container && same_pool(from.pool, shown.session->location());
        });
    });
}

} // namespace stepstore::fdb_plugin

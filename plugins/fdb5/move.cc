#include "move.h"

#include "control.h"
#include "failure.h"
#include "keys.h"

#include "fields/maintenance.h"

#include "daos_errno.h"

#include "fdb5/database/Catalogue.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace stepstore::fdb_plugin {
namespace {

namespace fs = std::filesystem;

// The file whose removal says that the source is to go, and a folder for FDB to copy it into.
class Marker {
public:
    Marker()
    {
        std::string pattern = (fs::temp_directory_path() / "stepstore-move-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr) {
            refuse("cannot make a folder " + pattern +
                   " for the move: set TMPDIR to a directory that this user can write");
        }
        folder_ = pattern;
        fs::create_directory(folder_ / "copied");
        std::ofstream(folder_ / name)
            << "The dataset was copied; when this file is removed, its source is wiped.\n";
    }
    ~Marker()
    {
        std::error_code ignored; // it is in the folder for temporary files
        fs::remove_all(folder_, ignored);
    }
    Marker(const Marker&) = delete;
    Marker& operator=(const Marker&) = delete;

    fdb5::FileCopy copy() const { return {folder_.string(), (folder_ / "copied").string(), name, true}; }
    bool removed() const { return !fs::exists(folder_ / name); }

private:
    static constexpr const char* name = "source";
    fs::path folder_;
};

const fdb5::ControlIdentifiers locked_by_fdb()
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
            if (!same_pool(pool, dataset_->session().location())) return pool;
            refuse(dataset_->name() + " is in " + pool + " already");
        }
        pools += (pools.empty() ? "" : ", ") + pool;
    }
    refuse("cannot move " + dataset_->name() + " to " + dest_.asRawString() +
           ": the destination must be one of stepstore.pools: " + pools);
}

void MoveVisitor::copy_to(const std::string& pool) const
{
    const auto destination = session_to_write(pool, settings_.pool);
    fields::copy(dataset_, *destination, dataset_->key());
    if (const auto copied = destination->find(dataset_->key())) {
        set_enabled(*copied, locked_by_fdb(),
                    true); // FDB has locked the source for the move, and the copy took it over
    }
}

bool MoveVisitor::visitDatabase(const fdb5::Catalogue&)
{
    translated([&] {
        copy_to(destination_pool());
        const Marker marker;
        queue_.push(marker.copy());
        while (!marker.removed() && !queue_.closed())
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        if (!marker.removed()) return; // --keep
        if (const auto source = find_dataset(place_of(*dataset_), Access::read_write))
            fields::wipe(source->session(), source->key());
    });
    return false; // the indexes went along
}

} // namespace stepstore::fdb_plugin

// What keeps an archive in order: removing, reclaiming, counting, showing, copying.
//
// All of it may run beside writers and readers, and may be interrupted at any point: what was not finished is
// finished by the next purge.
//
// Threads: any; callbacks run in the caller's. Errors: session.h; each call names its own.
#pragma once

#include "fields/catalogue.h"
#include "fields/session.h"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stepstore::fields {

// Takes the dataset out of the root key-value (from then on nobody finds it), then destroys its container.
// Readers and writers that have it open get -DER_STALE "... was wiped". False: there was none. -DER_NO_PERM:
// wiping is switched off.
bool wipe(Session& session, const Key& dataset);

struct WipeReport {
    std::uint64_t fields = 0;
    std::uint64_t bytes = 0;        // of fields in this store
    std::uint64_t collocations = 0; // of which everything went
    std::vector<std::string>
        foreign; // the locations of removed fields that lie elsewhere: the caller's to remove
};
// Removes the fields that match (keywords of collocation and element keys), per collocation key in one
// instant, then reclaims their space as purge() does. dry_run: only reports.
WipeReport wipe(const std::shared_ptr<Dataset>& dataset, const Request& request, bool dry_run = false);

// Removes all entries under one collocation key in one instant, and no bytes: these stay until purge().
// False: there was nothing.
bool clear(const std::shared_ptr<Dataset>& dataset, const Key& collocation);

struct Unneeded {
    enum class Reason : std::uint8_t { replaced, removed, never_flushed };
    Reason reason;
    FieldLocation location; // never_flushed: the whole object
    Key collocation;        // not of never_flushed
    Key element;
};
struct PurgeOptions {
    bool dry_run = false;
    // Also what writers on other machines left, of which it cannot be seen from here whether they live. Only
    // when they are known to be dead.
    bool force = false;
    // Called for each thing that is reclaimed (would be, with dry_run).
    std::function<void(const Unneeded&)> found;
};
struct PurgeReport {
    std::uint64_t masked_fields = 0;  // entries that were replaced or removed
    std::uint64_t objects = 0;        // array objects destroyed
    std::uint64_t bytes = 0;          // in them
    std::uint64_t unreferenced = 0;   // of these objects: left by writers that were killed before their flush
    std::uint64_t pages = 0;          // index pages merged away
    std::uint64_t unseen_writers = 0; // left alone: see PurgeOptions::force
    std::vector<std::string>
        foreign; // locations elsewhere that no field has any more: the caller's to remove
};
// Reclaims what no field needs: replaced and removed fields, what died before its flush, superseded pages. A
// reader that has the location of such a field already gets -DER_STALE when it reads it.
PurgeReport purge(const std::shared_ptr<Dataset>& dataset, const PurgeOptions& options = {});
// Destroys the containers that a process left behind between the two steps of wipe() or of the dataset's
// creation; with dry_run it only looks. Returns their labels.
std::vector<std::string> purge_pool(Session& session, bool dry_run = false);

struct Statistics {
    std::uint64_t fields = 0;
    std::uint64_t bytes = 0; // of fields in this store
    std::uint64_t masked_fields = 0;
    std::uint64_t masked_bytes = 0;
    std::uint64_t foreign_fields = 0; // of `fields`: elsewhere
    std::uint64_t foreign_bytes = 0;  // of entries elsewhere, masked ones too
    std::uint64_t collocations = 0;   // with fields
    std::uint64_t pages = 0;
    std::uint64_t index_bytes = 0;
    std::uint64_t writers = 0; // registered
};
// The bytes of a field elsewhere, whose location only the caller understands.
using LengthElsewhere = std::function<std::uint64_t(const std::string& location)>;
// Without `elsewhere` foreign_bytes stays 0.
Statistics statistics(const std::shared_ptr<Dataset>& dataset, const Request& request = {},
                      const LengthElsewhere& elsewhere = {});

// What is stored, as text, a line each: record, control flags, writers, collocation keys, pages, and with
// `entries` every entry.
void dump(const std::shared_ptr<Dataset>& dataset, bool entries,
          const std::function<void(std::string_view)>& line);

// The fields that are there now, with options, schema and flags, into another pool (or the same, under
// another key). The destination must not have the dataset (-DER_EXIST). It appears there whole, at the end.
// Returns the number of fields. Foreign locations are copied as they are. attributes: name and value of more
// attributes that the copy has from its first moment on.
std::uint64_t copy(const std::shared_ptr<Dataset>& dataset, Session& to, const Key& as,
                   const std::vector<std::pair<std::string, std::string>>& attributes = {});

} // namespace stepstore::fields

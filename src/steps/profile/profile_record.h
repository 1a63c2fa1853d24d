// The profile of all ranks of a program that wrote or read a stream, as JSON. That of writers lies in the
// stream itself. Both lie in a file in the pool's directory. Where there is none, the stream keeps both.
//
//   POOL/files/profiling.json                    the writers of the stream "main" of the container "default"
//   POOL/files/profiling/CONTAINER/STREAM.json   those of any other
//   POOL/files/profiling_readers...              the same of the last readers that asked for it
//
// Threads: one at a time. Errors: finish() says in its text what could not be written; profile_place() throws
// the system's.
#pragma once

#include "base/files.h"
#include "comm/communicator.h"
#include "location/find/location.h"
#include "steps/profile/profile.h"
#include "stepstore/administration.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepstore::steps {

enum class ProfileSide { writers, readers };
// Of the stream's side object.
constexpr const char* profile_key(ProfileSide side)
{
    return side == ProfileSide::writers ? "Profile" : "ReadersProfile";
}

class ProfileRecord {
public:
    // On rank 0, when the stream is opened: remembers what the targets have served so far.
    ProfileRecord(const Location& location, ProfileSide side, std::string_view layout);

    // {"version":3,"side":"writers","layout":..,"ranks":[Profile::json of each rank],
    //  "targets":[{"updates":..,"fetches":..,"bytes_written":..,"bytes_read":..}],
    //  "file":..} (relative to the pool)
    // targets: what each target served since the construction, also for others. Not on a DAOS system. Writes
    // the file too; where that fails, "file_error" says why instead of "file".
    struct Finished {
        std::string json;
        bool has_file = true;   // false: the pool has no directory
        std::string file_error; // why the file could not be written; else empty
    };
    Finished finish(const std::vector<std::string>& ranks) const;

private:
    Location location_;
    ProfileSide side_;
    std::string layout_;
    std::vector<TargetInfo> before_;
};

// Profile::json of all ranks in rank order, on rank 0. Collective.
std::vector<std::string> gather_profiles(Communicator& communicator, const Profile& mine);
// nullopt: the pool has no directory. Throws where it cannot be opened.
std::optional<RootedPath> profile_place(const Location& location, ProfileSide side);
// What the file holds; empty: there is none.
std::string read_profile_file(const Location& location, ProfileSide side);
// What could not be removed, and why; empty: nothing is left.
std::string remove_profile_files(const Location& location);

} // namespace stepstore::steps

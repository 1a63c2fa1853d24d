#include "steps/profile/profile_record.h"

#include "base/system_error.h"
#include "steps/file.h"
#include "steps/pool_directory.h"
#include "stepstore/administration.h"

#include <nlohmann/json.hpp>

#include <cerrno>

namespace stepstore::steps {

namespace {

// None on a DAOS system.
std::vector<TargetInfo> targets_of(const std::string& pool)
{
    return capabilities_of(pool).own_store ? describe_pool(pool).targets : std::vector<TargetInfo>();
}

// A reader never sees half a file.
void write_file(const RootedPath& place, std::string_view text)
{
    const RootedPath folder = place.parent();
    if (const int error = make_directories(folder); error != 0)
        throw system_error(error, folder, "cannot make the directory");
    const RootedPath fresh = folder / (place.name() + ".new");
    File::create(fresh).write(0, as_bytes(text));
    if (const int error = rename_file(fresh, place); error != 0)
        throw system_error(error, fresh, "cannot rename it to " + place);
}

} // namespace

std::vector<std::string> gather_profiles(Communicator& communicator, const Profile& mine)
{
    std::vector<std::byte> gathered;
    std::vector<std::uint64_t> offsets;
    communicator.gather(as_bytes(mine.json(communicator.rank())), gathered, offsets, 0);
    std::vector<std::string> ranks;
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
        ranks.emplace_back(as_text(Bytes(gathered).subspan(offsets[i], offsets[i + 1] - offsets[i])));
    return ranks;
}

std::optional<RootedPath> profile_place(const Location& location, ProfileSide side)
{
    const auto pool = pool_directory(location.pool);
    if (!pool) return std::nullopt;
    const std::string below = side == ProfileSide::writers ? "files/profiling" : "files/profiling_readers";
    const Location usual;
    const bool named = location.container != usual.container || location.stream != usual.stream;
    return *pool / (below + (named ? "/" + location.container + "/" + location.stream : "") + ".json");
}

std::string read_profile_file(const Location& location, ProfileSide side)
{
    const auto place = profile_place(location, side);
    if (!place) return {};
    const auto file = File::open(*place);
    if (!file) return {};
    std::vector<std::byte> text(file->size());
    text.resize(file->read(0, text));
    return std::string(as_text(text));
}

std::string remove_profile_files(const Location& location)
{
    std::string left;
    for (const ProfileSide side : {ProfileSide::writers, ProfileSide::readers}) {
        const auto place = profile_place(location, side);
        const int error = place ? remove(*place) : 0;
        if (error != 0 && error != ENOENT)
            left += (left.empty() ? "" : "; ") +
                    std::string(system_error(error, *place, "cannot remove it").what());
    }
    return left;
}

ProfileRecord::ProfileRecord(const Location& location, ProfileSide side, std::string_view layout)
    : location_(location), side_(side), layout_(layout), before_(targets_of(location.pool))
{
    location_.opened.reset();
}

ProfileRecord::Finished ProfileRecord::finish(const std::vector<std::string>& ranks) const
{
    nlohmann::ordered_json record = {{"version", 3},
                                     {"side", side_ == ProfileSide::writers ? "writers" : "readers"},
                                     {"layout", layout_},
                                     {"ranks", nlohmann::ordered_json::array()}};
    for (const std::string& rank : ranks)
        record["ranks"].push_back(nlohmann::ordered_json::parse(rank));
    const auto after = targets_of(location_.pool);
    for (std::size_t i = 0; i < after.size() && i < before_.size(); ++i)
        record["targets"].push_back({{"updates", after[i].updates - before_[i].updates},
                                     {"fetches", after[i].fetches - before_[i].fetches},
                                     {"bytes_written", after[i].bytes_written - before_[i].bytes_written},
                                     {"bytes_read", after[i].bytes_read - before_[i].bytes_read}});
    // A name may be any bytes.
    const auto text = [&] {
        return record.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    };
    const auto place = profile_place(location_, side_);
    if (!place) return {text(), false, {}};
    std::string file_error;
    try {
        record["file"] = place->below(); // pools are moved and copied
        write_file(*place, text() + "\n");
    } catch (const Error& error) {
        record.erase("file");
        record["file_error"] = file_error = error.what();
    }
    return {text(), true, file_error};
}

} // namespace stepstore::steps

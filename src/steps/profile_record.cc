#include "steps/profile_record.h"

#include "steps/file.h"
#include "steps/layouts/layout.h"
#include "stepstore/admin.h"

#include <nlohmann/json.hpp>

#include <filesystem>

namespace stepstore::steps {

namespace {

std::vector<TargetCounts> target_counts(const std::string& pool)
{
    std::vector<TargetCounts> counts;
    if (pool.starts_with("daos://")) return counts;
    const auto pool_now = nlohmann::json::parse(describe_pool(pool));
    for (const auto& target : pool_now.at("targets"))
        counts.push_back(
            {target.at("updates"), target.at("fetches"), target.at("bytes_written"), target.at("bytes_read")});
    return counts;
}

// A reader never sees half a file.
void write_file(const std::string& path, std::string_view text)
{
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw Error(-DER_IO, "cannot make the directory " + folder.string() + ": " + error.message());
    const std::string fresh = path + ".new";
    File::create(fresh).write(0, as_bytes(text));
    std::filesystem::rename(fresh, path, error);
    if (error) throw Error(-DER_IO, "cannot rename " + fresh + " to " + path + ": " + error.message());
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

std::optional<std::string> profile_path(const Location& location, ProfileSide side)
{
    const auto pool = pool_directory(location.pool);
    if (!pool) return std::nullopt;
    const std::string path = *pool + (side == ProfileSide::writers ? "/files/profiling" : "/files/profiling_readers");
    const Location usual;
    const bool named = location.container != usual.container || location.stream != usual.stream;
    return path + (named ? "/" + location.container + "/" + location.stream : "") + ".json";
}

std::string read_profile_file(const Location& location, ProfileSide side)
{
    const auto path = profile_path(location, side);
    if (!path) return {};
    const auto file = File::open(*path);
    if (!file) return {};
    std::vector<std::byte> text(file->size());
    text.resize(file->read(0, text));
    return std::string(as_text(text));
}

std::string remove_profile_files(const Location& location)
{
    std::string left;
    for (const ProfileSide side : {ProfileSide::writers, ProfileSide::readers}) {
        const auto path = profile_path(location, side);
        std::error_code error;
        if (path) std::filesystem::remove_all(*path, error);
        if (error) left += (left.empty() ? "" : "; ") + *path + ": " + error.message();
    }
    return left;
}

ProfileRecord::ProfileRecord(const Location& location, ProfileSide side, std::string_view layout)
    : location_(location), side_(side), layout_(layout), before_(target_counts(location.pool))
{
    location_.opened.reset();
}

std::string ProfileRecord::finish(const std::vector<std::string>& ranks) const
{
    nlohmann::ordered_json record = {{"version", 2},
                                     {"side", side_ == ProfileSide::writers ? "writers" : "readers"},
                                     {"layout", layout_},
                                     {"ranks", nlohmann::ordered_json::array()}};
    for (const std::string& rank : ranks)
        record["ranks"].push_back(nlohmann::ordered_json::parse(rank));
    const auto after = target_counts(location_.pool);
    for (std::size_t i = 0; i < after.size() && i < before_.size(); ++i)
        record["targets"].push_back({{"updates", after[i].updates - before_[i].updates},
                                     {"fetches", after[i].fetches - before_[i].fetches},
                                     {"bytes_written", after[i].bytes_written - before_[i].bytes_written},
                                     {"bytes_read", after[i].bytes_read - before_[i].bytes_read}});
    const auto path = profile_path(location_, side_);
    if (!path) return record.dump();
    try {
        record["file"] = path->substr(pool_directory(location_.pool)->size() + 1); // pools are moved and copied
        write_file(*path, record.dump(1) + "\n");
    } catch (const Error& error) {
        record.erase("file");
        record["file_error"] = error.what();
    }
    return record.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

} // namespace stepstore::steps

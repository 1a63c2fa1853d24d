#include "store/lmdb/sharing/format.h"

#include "base/checksum.h"
#include "base/files.h"
#include "store/lmdb/sharing/errors.h"

#include <daos_errno.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fcntl.h>
#include <span>
#include <unistd.h>

namespace stepstore::store::lmdb {

namespace {

constexpr std::string_view first_line = "stepstore pool\n";
constexpr std::string_view checksum_word = "checksum ";

std::string hexadecimal(std::uint64_t value)
{
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
    return text;
}

[[noreturn]] void damaged_format(const std::string& path, const std::string& why)
{
    throw Error(-DER_DF_INVAL, path + " is damaged (" + why +
                                   "): the pool cannot be opened; \"stepstore "
                                   "pool check\" says what can be saved");
}

} // namespace

std::string with_checksum(const std::string& text)
{
    return text + std::string(checksum_word) + hexadecimal(checksum(as_bytes(text))) + "\n";
}

std::optional<std::string_view> value_of(std::string_view text, std::string_view word)
{
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = text.substr(at, end - at);
        if (line.size() > word.size() && line.starts_with(word) && line[word.size()] == ' ')
            return line.substr(word.size() + 1);
        at = end + 1;
    }
    return std::nullopt;
}

std::optional<std::uint64_t> number_of(std::string_view text, std::string_view word)
{
    const auto value = value_of(text, word);
    std::uint64_t number = 0;
    if (!value) return std::nullopt;
    const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), number);
    if (error != std::errc{} || end != value->data() + value->size()) return std::nullopt;
    return number;
}

std::string target_name(unsigned index)
{
    char name[24];
    std::snprintf(name, sizeof name, "target-%03u", index);
    return name;
}

bool is_target_name(const std::string& name)
{
    return name.size() == 10 && name.starts_with("target-") &&
           name.find_first_not_of("0123456789", 7) == std::string::npos;
}

namespace {

void rename_format(const RootedPath& pool, const char* from, const char* to, const char* tried)
{
    if (const int error = rename_file(pool / from, pool / to); error != 0)
        fail(error, "pool " + pool, tried + owner_of(pool));
    sync_directory(pool);
}

std::vector<std::string> values_of(std::string_view text, std::string_view word)
{
    std::vector<std::string> values;
    while (const auto value = value_of(text, word)) {
        values.emplace_back(*value);
        text.remove_prefix(static_cast<std::size_t>(value->data() + value->size() - text.data()));
    }
    return values;
}

[[noreturn]] void other_version(const std::string& pool, std::uint64_t version)
{
    throw Error(-DER_DF_INCOMPT,
                "pool " + pool + " has format version " + std::to_string(version) +
                    ", this library reads version " + std::to_string(format_version) +
                    (version > format_version ? ": use a newer Stepstore"
                                              : ": copy its content with the Stepstore that made it"));
}

Format parse_format(const RootedPath& pool, const Descriptor& fd, const std::string& path)
{
    constexpr std::uint64_t longest = 1 << 20; // bytes: hundreds of directories
    const auto content = read_text(fd.get(), std::min(size_of(fd.get(), path), longest));
    if (!content) fail_errno(path, "cannot read the file");
    const std::string_view text = *content;
    if (!text.starts_with(first_line))
        damaged_format(path, "it does not begin with the line \"stepstore pool\"");
    const std::size_t end = text.rfind(checksum_word);
    if (end == std::string_view::npos || end == 0 || text[end - 1] != '\n')
        damaged_format(path, "it has no checksum");
    const std::string_view body = text.substr(0, end);
    if (text != with_checksum(std::string(body))) damaged_format(path, "its checksum does not match");
    const auto version = number_of(body, "version");
    if (!version || *version == 0) damaged_format(path, "it names no version");
    if (*version != format_version) other_version(pool, *version);
    Format format;
    const auto targets = number_of(body, "targets");
    if (!targets || *targets == 0 || *targets > max_targets)
        damaged_format(path, "it names no number of targets");
    format.targets = static_cast<unsigned>(*targets);
    const auto durability = value_of(body, "durability");
    if (durability != "process" && durability != "power") damaged_format(path, "it names no durability");
    format.durability = durability == "power" ? Durability::power : Durability::process;
    format.directories = values_of(body, "targets-in");
    return format;
}

} // namespace

void write_unfinished(const RootedPath& pool, const Format& format)
{
    std::string text(first_line);
    text += "version " + std::to_string(format_version) + "\n";
    text += "targets " + std::to_string(format.targets) + "\n";
    text +=
        std::string("durability ") + (format.durability == Durability::power ? "power" : "process") + "\n";
    for (const std::string& directory : format.directories)
        text += "targets-in " + directory + "\n";
    make_file(pool / unfinished_name, as_bytes(with_checksum(text)));
}

void publish(const RootedPath& pool)
{
    rename_format(pool, unfinished_name, format_name, "cannot put its format file in place");
}

void unpublish(const RootedPath& pool)
{
    rename_format(pool, format_name, unfinished_name, "cannot begin to destroy it");
}

Format read_format(const RootedPath& pool)
{
    const RootedPath path = pool / format_name;
    const Descriptor fd = open_file(path, O_RDONLY);
    if (!fd && errno == ENOENT) {
        if (!exists(pool / unfinished_name) && exists(pool / meta_name / "data.mdb"))
            throw Error(-DER_DF_INVAL,
                        path + " is missing: the pool is damaged; put the file back from a copy");
        throw Error(-DER_NONEXIST, "there is no pool in " + pool + ": create it first, or correct the path");
    }
    if (!fd) fail_errno(path, "cannot open the file" + owner_of(path));
    return parse_format(pool, fd, path);
}

std::optional<Format> read_any_format(const RootedPath& pool)
{
    for (const char* name : {unfinished_name, format_name}) {
        const RootedPath path = pool / name;
        const Descriptor fd = open_file(path, O_RDONLY);
        if (!fd) continue;
        try {
            return parse_format(pool, fd, path);
        } catch (const Error&) { // damaged, or its maker died before it had made anything
            return std::nullopt;
        }
    }
    return std::nullopt;
}

} // namespace stepstore::store::lmdb

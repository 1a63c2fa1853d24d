#include "dfs/mark.h"

#include "dfs/failure.h"

#include <cstring>

namespace stepstore::dfs {
namespace {

constexpr std::size_t mark_name_at = 1 + sizeof(daos_obj_id_t);
constexpr std::string_view roles = "STHXPY";

} // namespace

std::size_t encode_mark(const Mark& mark, MarkBytes& bytes)
{
    bytes[0] = static_cast<char>(mark.role);
    std::memcpy(&bytes[1], &mark.directory, sizeof mark.directory);
    std::memcpy(&bytes[mark_name_at], mark.name.data(), mark.name.size());
    return mark_name_at + mark.name.size();
}

Mark decode_mark(const MarkBytes& bytes, std::size_t size, std::string_view entry)
{
    if (size > mark_name_at && size <= bytes.size() && roles.find(bytes[0]) != std::string_view::npos) {
        Mark mark;
        mark.role = static_cast<Mark::Role>(bytes[0]);
        std::memcpy(&mark.directory, &bytes[1], sizeof mark.directory);
        mark.name.assign(&bytes[mark_name_at], size - mark_name_at);
        if (is_name(mark.name)) return mark;
    }
    fail(EIO,
         "the entry " + quoted(std::string(entry)) +
             " is damaged: the note of its rename makes no sense; dfs_remove() with force takes it out of "
             "its directory");
}

} // namespace stepstore::dfs

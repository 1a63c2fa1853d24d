#include "fuzz.h"

#include "dfs/failure.h"
#include "dfs/mark.h"

#include <cstring>

namespace stepstore::dfs {

// The one thing that a decoder says, here without libdaos.
void fail(int number, const std::string&)
{
    throw Error(-number, "damaged");
}
void require(const void* pointer, const char*)
{
    if (!pointer) fail(EINVAL, "");
}
std::string quoted(const std::string& text)
{
    return text;
}

FUZZ(dfs, inode)
{
    const Bytes given = input.rest();
    InodeBytes bytes{};
    std::copy_n(given.begin(), std::min(given.size(), bytes.size()), bytes.begin());
    const Inode inode = decode(bytes, given.size(), "entry");
    fuzz::require(encode(inode) == bytes, "an inode is not what its bytes say");
}

FUZZ(dfs, mark)
{
    const Bytes given = input.rest();
    MarkBytes bytes{};
    for (std::size_t i = 0; i < std::min(given.size(), bytes.size()); ++i)
        bytes[i] = std::to_integer<char>(given[i]);
    MarkBytes again{};
    const Mark mark = decode_mark(bytes, given.size(), "entry");
    const std::size_t size = encode_mark(mark, again);
    fuzz::require(size == given.size() && std::memcmp(again.data(), given.data(), size) == 0,
                  "a mark is not what its bytes say");
}

} // namespace stepstore::dfs

#include "dfs/failure.h"

#include "base/errno_of.h"
#include "dfs/api.h"
#include "stepstore/admin.h"
#include "stepstore/printable.h"

#include <cstdio>
#include <cstring>

namespace stepstore::dfs {
namespace {

// Without destructors: it may be asked for as the thread ends.
struct Message {
    const char* call = "";
    char text[1024] = "";
};
thread_local Message message;

void keep(const char* text) noexcept
{
    std::snprintf(message.text, sizeof message.text, "%s: %s", message.call, text);
}

} // namespace

void begin_message(const char* call) noexcept
{
    message.call = call;
}

int out_of_memory() noexcept
{
    keep("out of memory");
    return ENOMEM;
}

int of_unknown_kind(const char* what) noexcept
{
    keep(what);
    return EIO;
}

void fail(int number, const std::string& text)
{
    keep(printable(text).c_str());
    throw Failure{number};
}

void fail_with(int code, const std::string& tried)
{
    const char* said = stepstore_last_message();
    if (code == -DER_NOTSUPPORTED && std::strncmp(said, "daos_obj_", 9) == 0)
        fail(ENOTSUP,
             tried + ": " + said + "; a file system needs a pool that stores objects of dkeys and akeys");
    fail(errno_of(code), tried + ": " + (*said != '\0' ? said : d_errdesc(code)));
}

void require(const void* pointer, const char* what)
{
    if (pointer == nullptr) fail(EINVAL, std::string(what) + " is NULL");
}

std::string quoted(const std::string& text)
{
    return "'" + printable(text) + "'";
}

} // namespace stepstore::dfs

extern "C" const char* dfs_last_message(void)
{
    return stepstore::dfs::message.text;
}

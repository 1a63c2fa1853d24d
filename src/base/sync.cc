#include "base/sync.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace stepstore {

int sync_path(const std::string& path)
{
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0) return errno;
    int error = 0;
    while (::fsync(descriptor) != 0 && (error = errno) == EINTR)
        error = 0;
    ::close(descriptor);
    return error == EINVAL ? 0 : error;
}

} // namespace stepstore

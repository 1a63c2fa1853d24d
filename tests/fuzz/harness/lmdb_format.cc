// The file `stepstore` of a pool, a text with a checksum.
#include "fuzz.h"

#include "store/lmdb/sharing/format.cc"

#include <sys/mman.h>

namespace stepstore::store::lmdb {

FUZZ(lmdb, format)
{
    const std::string text = with_checksum(std::string(as_text(input.rest())));
    const Descriptor fd(memfd_create("format", MFD_CLOEXEC));
    if (::write(fd.get(), text.data(), text.size()) < 0) std::abort();
    const Format format = parse_format(RootedPath(), fd, "format");
    fuzz::require(format.targets > 0 && format.targets <= max_targets, "the number of targets");
    for (const std::string& one : format.directories)
        fuzz::touch(one);
}

} // namespace stepstore::store::lmdb

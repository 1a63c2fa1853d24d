// When bytes that do not match their checksum are damaged.
//
// They may also be old: this machine had a copy of that part of a file from before it was written. A pool in
// files asks the kernel to drop such a copy before it reads an array. That is all that it can do, and it does
// not say whether it was done. Or the bytes are right, and the memory is not: a program gave it to two reads,
// or changed it meanwhile. So code that verifies what it has read reads it once more before it says damage.
// If it verifies by checksums that it has read too, it reads these again as well.
//
// All code that verifies bytes of arrays, or of whole files, asks this. If the bytes are found through a
// reference that others may replace, found_twice.h is needed too.
//
// Threads: that of the reader; nothing is shared. Errors: those of the two calls; it throws none of its own.
#pragma once

#include <utility>

namespace stepstore {

// is_right: whether what was read last matches. read_again: reads it again, not from this machine's cache. If
// the bytes are in a program's memory, it reads them into other memory, and is_right looks there. False: it
// is damaged.
template <class IsRight, class ReadAgain>
bool right_at_second_look(IsRight&& is_right, ReadAgain&& read_again)
{
    if (is_right()) return true;
    std::forward<ReadAgain>(read_again)();
    return is_right();
}

} // namespace stepstore

// An entry of the file `index`, of the layout posix.
#include "fuzz.h"

#include "steps/layouts/posix.cc"

namespace stepstore::steps {

FUZZ(steps, index_entry)
{
    std::byte bytes[entry_size]{};
    const Bytes rest = input.bytes(entry_size - 12);
    store_little(bytes, index_magic);
    std::ranges::copy(rest, bytes + 4);
    seal_end(bytes);
    IndexEntry entry;
    load_entry(bytes, entry);
}

} // namespace stepstore::steps

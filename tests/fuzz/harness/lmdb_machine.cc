// The note of the machine that writes a pool.
#include "fuzz.h"

#include "store/lmdb/sharing/machine.cc"

namespace stepstore::store::lmdb {

FUZZ(lmdb, machine)
{
    const std::string text = "stepstore machine 1\n" + std::string(as_text(input.rest()));
    fuzz::touch(MachineClaim::decode(with_checksum(text)).machine.host);
    fuzz::touch(MachineClaim::decode(text).machine.host);
    MachineClaim::is_name(text);
}

} // namespace stepstore::store::lmdb

// The turn of a stream's writer.
#include "fuzz.h"

#include "steps/stream/writer_lease.cc"

namespace stepstore::steps {

FUZZ(steps, turn)
{
    std::vector<std::byte> bytes(8);
    store_little(bytes.data(), turn_magic);
    store_little(bytes.data() + 4, turn_version);
    const Bytes rest = input.rest();
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    append_checksum(bytes);
    fuzz::touch(decode_turn(fuzz::Copy(bytes)).writer.host);
}

} // namespace stepstore::steps

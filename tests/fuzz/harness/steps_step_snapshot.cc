#include "fuzz.h"

#include "steps/layouts/reference/step_snapshots.cc"

namespace stepstore::steps {

FUZZ(steps, step_snapshot)
{
    std::vector<std::byte> bytes(4);
    store_little(bytes.data(), snapshot_magic);
    const Bytes rest = input.rest();
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    append_checksum(bytes);
    decode_snapshot(fuzz::Copy(bytes), 0);
    step_of_name(as_text(rest), "steps 5 ");
}

} // namespace stepstore::steps

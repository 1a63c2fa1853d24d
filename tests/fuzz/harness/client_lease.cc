// The record of a lease.
#include "fuzz.h"

#include "base/record.h"
#include "client/lease.h"

namespace stepstore {

FUZZ(client, lease)
{
    const Bytes rest = input.rest();
    fuzz::touch(decode_lease(fuzz::Copy(rest)).holder.host);
    std::vector<std::byte> bytes(frame_size_of<std::uint32_t>);
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    seal_frame(bytes, 0x454c5353, std::uint32_t{1});
    fuzz::touch(decode_lease(fuzz::Copy(bytes)).holder.host);
}

} // namespace stepstore

// What lies in the index of a pool on a Ceph cluster. Empty without librados.
#include "fuzz.h"

#if __has_include(<rados/librados.hpp>)
#include "store/rados/client.h"
#include "store/rados/pool.h"

namespace stepstore::store::rados {

FUZZ(rados, header)
{
    const Bytes rest = input.rest();
    const Header header = Header::decode("STEPSTORE-RADOS 2\n" + std::string(as_text(rest)), "pool");
    fuzz::require(header.targets > 0 && header.targets <= 256, "the number of targets");
}

FUZZ(rados, index)
{
    const fuzz::Copy copy(input.rest());
    const std::string_view text = as_text(copy);
    const Raw raw = std::make_shared<const std::string>(text);
    key_of(text);
    epoch_of(text);
    behind(text);
    if (is_spilled(raw)) decode_extent(text.substr(header_size));
    FileNumber::decode(from_big(text));
    LaneRecord::decode(text);
}

} // namespace stepstore::store::rados
#else
FUZZ(rados, header)
{
}
FUZZ(rados, index)
{
}
#endif

#include "fuzz.h"

#include "blobs/entry.h"
#include "blobs/numbers.h"

namespace stepstore::blobs {

FUZZ(blobs, entry)
{
    const fuzz::Copy bytes(input.rest());
    const Entry entry = decode_entry(bytes, [] { return "blob"; });
    fuzz::require(!entry.in_array() || entry.value.empty(), "a value beside its array");
    fuzz::require(entry.size() <= std::uint64_t{1} << 62, "more bytes than a part of it can name");
    fuzz::touch(entry.value);
}

FUZZ(blobs, range)
{
    const auto range = RangeForm::decode(fuzz::Copy(input.rest()), "a mark");
    fuzz::require(range.has_value(), "a mark that says nothing");
    fuzz::touch(range->process.host);
}

} // namespace stepstore::blobs

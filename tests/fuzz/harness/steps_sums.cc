// An entry of the files `sums.RANK`, of the layout posix, and the names of its files.
#include "fuzz.h"

#include "steps/layouts/data_files.cc"

namespace stepstore::steps {

FUZZ(steps, sums)
{
    std::byte bytes[sum_size]{};
    const Bytes rest = input.bytes(sum_size - 8);
    std::ranges::copy(rest, bytes);
    store_little(bytes + 12, sum_magic);
    seal_end({bytes, sum_size});
    Piece piece;
    if (load_sum(bytes, piece)) fuzz::require(piece.length > 0 && piece.length <= piece_size, "a piece");
}

FUZZ(steps, directory)
{
    const Bytes rest = input.rest();
    const std::string_view text = as_text(rest);
    if (is_data_file(text)) fuzz::require(text.find('/') == std::string_view::npos, "the name of a file");
    require_segment_directory(text, "stream");
    fuzz::require(!text.starts_with('/') && text.find("/../") == std::string_view::npos &&
                      !text.ends_with("/..") && text.starts_with("files/"),
                  "a directory");
}

} // namespace stepstore::steps

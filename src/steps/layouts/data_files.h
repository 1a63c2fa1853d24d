// The data of the layout `posix`: files of a writer rank below the segment's directory. `blocks.<rank>` holds
// the blocks. `sums.<rank>` holds an entry of 32 bytes for every piece of them, of at most 64 KiB. A piece is
// part of what one put wrote, and no byte is in two. Files of format version 1 are called `data.<rank>` and
// have no checksums.
//
// A piece is written before its entry, and both before the metadata that describes the step. So a reader that
// knows a block from metadata finds the entries of all its pieces, each with a checksum of its own. A missing
// entry is damage.
//
// Threads: any; the file system is the state. Errors: -DER_NOSYS, -DER_DF_INVAL, and the system's.
#pragma once

#include "base/files.h"
#include "steps/layouts/data_store.h"
#include "steps/layouts/layout.h"

namespace stepstore::steps {

// -DER_NOSYS: the layout keeps files, and the pool has no directory (on a cluster).
void require_directory(const std::string& pool, const Layout& layout);
// The directory that a record names, of a pool that has one. -DER_DF_INVAL: no stream has its files there.
RootedPath stream_directory(const std::string& pool, const std::string& directory);
// Whether a stream has files of this name. Of those there, sorted.
bool is_data_file(std::string_view name);
std::vector<std::string> data_files_in(const RootedPath& directory);
// Where a segment's files lie. -DER_NOSYS as above.
RootedPath segment_directory(const std::string& pool, const StreamRecord& segment);
void remove_data_files(const std::string& pool, const StreamRecord& segment);

} // namespace stepstore::steps

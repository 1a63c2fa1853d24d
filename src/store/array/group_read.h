// The read of pieces of an array that lie on one target.
//
// At `latest` one seek finds the first extent of a range, and the walk ends after the range. At a snapshot
// the walk takes the live extents born by then, and the history that was alive then. History is in the order
// of ends too. But its extents, being of different times, may overlap, so its walk ends only with the chunk.
//
// Threads: of one call. Errors: DER_CSUM for damage, DER_AGAIN for what is replaced all the time.
#pragma once

#include "base/not_copied.h"
#include "store/array/array.h"
#include "store/removal.h"

#include <string>
#include <vector>

namespace stepstore::store {

using ReadPiece = Piece<MutableBytes>;

// [begin, end) in bytes of a chunk, of an update with the epoch `birth`.
struct FoundExtent {
    std::uint64_t begin = 0, end = 0;
    Epoch birth = 0;
};

// In their order, neighbours as one: extents of an update may end within a record. births: only those of one
// update are.
std::vector<FoundExtent> joined(std::vector<FoundExtent> found, bool births);

class GroupRead : NotCopied {
public:
    // removal: as if it were done. nullptr: what is there.
    GroupRead(const ObjectAccess& object, std::span<const ReadPiece> pieces, unsigned target, Epoch epoch,
              Verify verify, const Removal* removal)
        // At a snapshot find() fills all memory with zeros first.
        : object_(object), pieces_(pieces), target_(target), epoch_(epoch),
          verify_(epoch == latest ? verify : Verify::yes), removal_(removal)
    {
    }

    void run(bool may_write);
    // A part of run(), in a transaction of the caller's, who has required the epoch: copies what lies in the
    // index, and asks for what lies in extents. May be called again. found: the extents that were met, each
    // cut to its piece; at `latest` it ends with that many. A piece without memory is only looked for.
    void find(ReadTransaction& transaction, std::vector<BulkRead>& reads,
              std::vector<FoundExtent>* found = nullptr, std::size_t most_found = SIZE_MAX);

    std::uint64_t bytes = 0; // that were stored

private:
    void expect(ReadTransaction& transaction);
    void walk_latest(Entries& entries, const ReadPiece& piece, std::vector<BulkRead>& reads);
    void walk_at_epoch(Entries& entries, const ReadPiece& piece, Space space, std::vector<BulkRead>& reads);
    void parse(const Entry& entry, ParsedKey& parsed, Record& record);
    std::uint64_t end_of(const ParsedKey& parsed, const Record& record) const;
    void take(const ReadPiece& piece, const ParsedKey& parsed, const Record& record, std::uint64_t to,
              std::vector<BulkRead>& reads);
    void require_hole(const Entries& walked, const ReadPiece& piece);

    const ObjectAccess& object_;
    std::span<const ReadPiece> pieces_;
    unsigned target_;
    Epoch epoch_;
    Verify verify_;
    const Removal* removal_;
    std::vector<std::string> named_; // the extents to be read, for messages
    std::vector<FoundExtent>* found_ = nullptr;
    std::size_t most_found_ = SIZE_MAX;
};

} // namespace stepstore::store

// Where the metadata blobs of a step lie: the seam between the timestep engine and its layouts, one file
// each.
//
// A blob describes itself (step, rank, generation, length, checksums), so a layout needs no lock and no
// second message to publish: a step is there when all its ranks' blobs are. Blobs of 0 bytes do not exist:
// also a rank that put nothing has a header.
#pragma once

#include "base/files.h"
#include "comm/communicator.h"
#include "steps/codec/decoder.h"
#include "steps/stream/catalogue.h"

#include <daos_errno.h>

#include <memory>

namespace stepstore::steps {

struct LayoutContext {
    const Pool& pool;
    const Container& container;
    const StreamRecord& record;
    Gets gets = Gets::async;
    bool power = false; // posix: what is written is synced before it is acknowledged
};

class LayoutWriter {
public:
    virtual ~LayoutWriter() = default;
    // Stores this rank's blob; when it returns, this rank's part is done. Where collective() is true, all
    // ranks call it for the same steps in the same order, and a rank that has no blob because it failed calls
    // abandon() instead, so that nobody waits for it.
    virtual void store(std::uint64_t step, Bytes blob) = 0;
    virtual void abandon(std::uint64_t /*step*/) {}
    // No more steps of this rank. Where collective() is true every rank calls it once, also one whose step
    // failed: it then takes part in the exchanges of those that still write, so that they are told instead of
    // waiting for it.
    virtual void finish() {}
    virtual bool collective() const { return false; }
    std::uint64_t requests() const { return requests_; } // to the store

protected:
    std::uint64_t requests_ = 0;
};

class LayoutReader {
public:
    virtual ~LayoutReader() = default;
    // All blobs of a step. False: not all of them are there (yet); what was found already is not fetched
    // again. Throws for damage.
    virtual bool fetch(std::uint64_t step, StepBlobs& into) = 0;
    // One blob of a step that is known to be whole.
    virtual std::vector<std::byte> fetch_blob(std::uint64_t step, std::uint32_t rank) = 0;
    // What lies in one rank's place, for checks: nullopt: nothing. Damaged bytes are given as they are.
    virtual std::optional<std::vector<std::byte>> raw_blob(std::uint64_t step, std::uint32_t rank) = 0;
    // Whether the step was published, be it damaged.
    virtual bool published(std::uint64_t step);
    std::uint64_t requests() const { return requests_; }

protected:
    std::uint64_t requests_ = 0;
};

// The memory of `context` must outlive the result.
std::unique_ptr<LayoutWriter> make_layout_writer(const LayoutContext& context, Communicator& communicator);
std::unique_ptr<LayoutReader> make_layout_reader(const LayoutContext& context);
std::uint64_t default_chunk_size(Layout layout);

std::unique_ptr<LayoutWriter> make_posix_writer(const LayoutContext&, Communicator&);
std::unique_ptr<LayoutReader> make_posix_reader(const LayoutContext&);
std::unique_ptr<LayoutWriter> make_kv_writer(const LayoutContext&, Communicator&);
std::unique_ptr<LayoutReader> make_kv_reader(const LayoutContext&);
std::unique_ptr<LayoutWriter> make_array_writer(const LayoutContext&, Communicator&);
std::unique_ptr<LayoutReader> make_array_reader(const LayoutContext&);
std::unique_ptr<LayoutWriter> make_array_aligned_writer(const LayoutContext&, Communicator&);
std::unique_ptr<LayoutReader> make_array_aligned_reader(const LayoutContext&);

// The directory of a pool; nullopt: it has none (daos://). Throws what stepstore_pool_path says.
std::optional<Place> pool_directory(const std::string& pool);
std::string describe_pool(const std::string& pool); // as stepstore_pool_describe does
bool survives_power_failure(const std::string& pool);
// Frees the space of everything behind the steps before `end`, of which the last is in the segment and whole.
// Nobody writes the segment any more.
void trim_layout(const LayoutContext& context, std::uint64_t end);
void shorten(Array array, std::uint64_t bytes); // never makes it longer
void trim_posix(const LayoutContext&, std::uint64_t end);
void trim_kv(const LayoutContext&, std::uint64_t end); // also what other layouts keep in the side object
void trim_array(const LayoutContext&, std::uint64_t end);
void trim_array_aligned(const LayoutContext&, std::uint64_t end);

// The files of the posix layout: below the pool's directory.
std::string posix_directory(const std::string& container, std::uint64_t generation);
Place posix_place(const std::string& pool, const StreamRecord& record); // -DER_NOSYS for daos:// pools
void remove_posix_files(const std::string& pool, const StreamRecord& record);

// A blob that a later step refers to, or, where it is damaged, the copy of the part that matters.
std::vector<std::byte> fetch_known(LayoutReader& layout, const KeyValue& side, const StreamRecord& record,
                                   std::uint64_t step, std::uint32_t rank, BlobPart part);

// "Step<N>-Rank<R>"
std::string blob_key(std::uint64_t step, std::uint32_t rank);

// The buffer in which the blobs of one step come together, each rank's in a slot as large as its blob is
// expected to be (by the one before), so that no size has to be asked for; a blob that is larger is fetched
// again.
class BlobCollector {
public:
    explicit BlobCollector(std::uint32_t ranks);
    void begin(std::uint64_t step); // forgets another step's blobs; keeps those of this one
    std::uint32_t missing() const
    {
        return missing_;
    } // the first rank without a blob; ranks() when there is none
    std::uint32_t ranks() const { return static_cast<std::uint32_t>(sizes_.size()); }
    bool has(std::uint32_t rank) const { return sizes_[rank] != 0; }
    MutableBytes slot(std::uint32_t rank);
    void set(std::uint32_t rank, std::size_t size);            // the slot holds its blob of that size
    void set(std::uint32_t rank, std::vector<std::byte> blob); // a blob that did not fit
    void finish(StepBlobs& into);

private:
    static constexpr std::uint64_t no_begin = UINT64_MAX;
    std::uint64_t step_ = no_begin;
    std::uint32_t missing_ = 0;
    std::vector<std::size_t> expected_;
    std::vector<std::size_t> slots_; // ranks + 1 offsets
    std::vector<std::size_t> sizes_;
    std::vector<std::vector<std::byte>> large_;
    std::vector<std::byte> buffer_;
};

} // namespace stepstore::steps

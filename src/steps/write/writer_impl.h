// What a Writer has and does, behind its public face.
// Threads and errors: writer.h.
#pragma once

#include "base/wire.h"
#include "comm/collective.h"
#include "steps/metadata/block_check.h"
#include "steps/metadata/encoder.h"
#include "steps/profile/profile.h"
#include "steps/profile/profile_record.h"
#include "steps/write/agreement.h"
#include "steps/write/beside.h"
#include "steps/write/data_puts.h"
#include "steps/write/group_watch.h"
#include "steps/write/opening.h"
#include "steps/write/writer.h"

namespace stepstore::steps {

class Writer::Impl {
public:
    Impl(const std::string& location, const WriterOptions& options,
         std::shared_ptr<Communicator> communicator);
    ~Impl();
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    std::uint64_t begin_step();
    void put(VariableId id, const BlockGeometry& block, const void* data, Mode mode);
    std::span<std::byte> put_span(VariableId id, DimsView shape, DimsView start, DimsView count,
                                  const MinMax* extremes);
    void put_from(VariableId id, const BlockGeometry& block, const MinMax* extremes, Fetch fetch);
    std::span<std::byte> put_from_staying(VariableId id, const BlockGeometry& block, const MinMax* extremes,
                                          Fetch fetch);
    void put_value(VariableId id, const void* value);
    // Not what the step before put there, or a text.
    [[gnu::noinline]] void put_other_value(VariableId id, const void* value, std::string_view text,
                                           bool is_text);
    void perform_puts(bool spans);
    void write_puts(bool spans); // with async_write beside the program
    void end_part();
    using ShapeNow = FunctionRef<DimsView(VariableId)>;
    void end_step(const ShapeNow* shape_now); // nullptr: those of the puts
    void close();
    void require_step(const char* what) const
    {
        if (closed || failed || !in_step) refuse_outside(what);
    }
    void require_open() const;

    WriterOptions options;
    std::shared_ptr<Communicator> communicator;
    OpenedStream opened;
    std::optional<Pool> pool;
    std::optional<Container> container;
    std::unique_ptr<Lease> lease;      // of rank 0
    std::unique_ptr<GroupWatch> watch; // where there are several ranks, as is the agreement
    std::unique_ptr<Agreement> agreement;
    std::unique_ptr<LayoutWriter> layout;
    std::unique_ptr<DataWriter> data;
    std::unique_ptr<Encoder> encoder;
    std::optional<KeyValue> side;   // of the stream
    std::optional<StreamList> told; // where readers are told of what is new
    DataPuts puts;
    struct StoredAs {
        std::optional<Compression> compression; // where it differs from the stream's
        std::shared_ptr<BlockOperator> through;
        bool reshapable = false;
    };
    StoredAs& stored_as(VariableId id);
    std::vector<StoredAs> stored_as_;                   // by variable, of those that were chosen for
    bool stores_as_is = true;                           // no block is compressed or goes through an operator
    std::vector<std::shared_ptr<BlockOperator>> in_use; // by blocks of the open step
    Profile profile;
    std::optional<ProfileRecord> profile_record; // on rank 0
    bool fetches = false;                        // a block was fetched (put_from)
    const PieceMemory* piece_memory = nullptr;   // for them
    bool in_step = false;
    bool closed = false;
    bool failed = false;
    std::exception_ptr lost; // why the open step cannot be ended
    std::uint64_t steps = 0;
    std::uint64_t data_end = 0; // of this rank's data, bytes
    std::uint64_t chunk = 1;    // of the data, bytes
    // The step that end_step has decided on, until it is published.
    struct Decided {
        std::uint64_t step = 0;
        Bytes metadata; // the encoder's, until the next step begins
        std::vector<Claim> claims;
        bool storing = false;   // its metadata
        bool published = false; // this rank's part
    };
    std::optional<Decided> decided;
    std::unique_ptr<Beside> beside; // with async_write; last: its end waits for its work

private:
    std::uint64_t check_block(VariableId id, DimsView shape, DimsView start, DimsView count);
    DataPuts::Block add_block(VariableId id, DimsView shape, DimsView start, DimsView count,
                              std::uint64_t number, const void* memory);
    void decide(const ShapeNow* shape_now);
    void publish(Costs& costs);
    void arrive();
    void wait_for_step();
    void name_data(FunctionRef<void()> work);
    void close_together(const std::exception_ptr& failure);
    void mark_closed(std::uint64_t whole_steps);
    void announce() const
    {
        if (told) told->announce(opened.location.stream);
    }
    [[noreturn]] void refuse_outside(const char* what) const;
    // Not the element that the step before put there.
    [[gnu::noinline]] void put_other(VariableId id, const BlockGeometry& block, const void* memory,
                                     Mode mode);
    void put_block(const DataPuts::Block& block, VariableId id, Mode mode);
    bool know_extremes(const DataPuts::Block& block, const MinMax* extremes);
    void take_or_lose(VariableId id, FunctionRef<void()> work);
    const Compression& compression_of(VariableId id) const;
    // Whether the blocks of the variable may be stored in another form.
    bool changes(VariableId id) const { return !stores_as_is && is_changed(id); }
    bool is_changed(VariableId id) const;
    std::string name_of_put(const Variable& variable) const;
    void give_up(std::uint64_t step);
    [[noreturn]] void give_up(const Decided& one);
};

} // namespace stepstore::steps

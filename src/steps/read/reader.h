// Reads a stream of steps, while it is written or after. Any number of ranks reads a stream of any number of
// writers.
//
// There are two modes (ReaderOptions::mode). stream: begin_step/end_step walk through the steps in order,
// none skipped, and all calls below mean the current step. random_access: no begin_step; every call takes a
// step. Collective: construction, and begin_step in stream mode unless Readers::everyone. All other calls are
// local. For one thread at a time: several that use a reader hold its lock() over their calls.
//
// Nothing is decoded before it is asked for. Errors, which name variable, step and stream:
//   -DER_CSUM, -DER_DF_INVAL   damage; names the rank too
//   -DER_STALE                 a writer has replaced the stream meanwhile
//   -DER_NONEXIST              no such variable or step
//   -DER_INVAL                 a bad selection
//   -DER_NO_HDL                it is a parent's, from before a fork: open it again
// After any of them the reader can be used further.
#pragma once

#include "base/own_state.h"
#include "comm/communicator.h"
#include "location/find/location.h"
#include "steps/block_operator.h"
#include "steps/stream/options.h"
#include "steps/types.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepstore::steps {

struct Costs;    // profile/profile.h
class DataReads; // data_reads.h

// Deferred gets of their own, beside those of the reader (Reader::new_queue). May outlive it.
using GetQueue = std::shared_ptr<DataReads>;

// "The current step" in stream mode; in random-access mode the last step.
inline constexpr std::uint64_t this_step = UINT64_MAX;

// What the record of a stream says, of its last segment where the segments differ.
struct StreamDescription {
    std::uint32_t format = 0;     // version
    std::uint64_t generation = 0; // fresh for every stream of the container
    std::uint64_t segments = 1;   // one, and one more for every time that it was appended to
    std::string layout;           // its name
    std::string objects;          // "single"
    std::string step_mode;        // "extend"
    Order order = Order::row_major;
    std::uint32_t ranks = 0;      // that wrote
    std::uint64_t chunk_size = 0; // of the metadata, bytes
    std::string object_class;
    std::uint64_t data_chunk_size = 0; // bytes
    std::string data_object_class;
    std::string writer_host; // of rank 0
    std::uint64_t writer_process = 0;
    std::uint64_t created = 0;          // seconds since 1970
    std::optional<std::uint64_t> steps; // nullopt: its writer has not ended it
};

class Reader {
public:
    // -DER_NONEXIST: no pool, container or stream there (within open_timeout); the message says which, and
    // what there is instead. -DER_DF_INCOMPT: the stream was written by a newer version.
    Reader(const std::string& location, const ReaderOptions& options,
           std::shared_ptr<Communicator> communicator);
    ~Reader();
    Reader(Reader&&) noexcept;
    Reader& operator=(Reader&&) noexcept;

    // Stream mode. timeout: seconds to wait for the step; 0: look once; negative: for ever (with delegated
    // reads rank 0's counts). A damaged step is thrown as Error; calling again then goes on with the step
    // after it.
    StepStatus begin_step(double timeout_seconds);
    // After writer_died: who that was, for messages ("process 12 on host h"); empty on ranks that did not
    // look.
    const std::string& dead_writer() const;
    void end_step();                    // performs outstanding gets
    std::uint64_t current_step() const; // -DER_INVAL outside of a step
    bool in_step() const;

    // Random access: whole steps there now; looks again when the stream is not closed. Stream mode: whole
    // steps there now.
    std::uint64_t steps() const;
    bool closed() const; // the writer has ended the stream
    // The steps before it are gone: aggregate_steps(). A call that names one of them gives -DER_EP_OLD. A
    // reader that goes from step to step begins here.
    std::uint64_t first_step() const;

    // All variables known so far; the index is the VariableId. In stream mode what was defined up to the
    // current step, or a little further with read-ahead; in random-access mode up to the last step. Never
    // shrinks, so ids stay.
    const std::vector<Variable>& definitions() const;
    // Those that have a block in the step, ascending. Valid until the next begin_step, or call for another
    // step.
    std::span<const VariableId> variables(std::uint64_t step = this_step) const;
    std::optional<VariableId> find(std::string_view name) const; // in definitions()
    bool has(VariableId variable, std::uint64_t step = this_step) const;

    // The global box; local_value: {number of values}; joined_array: with the joined dimension added up;
    // empty for global values and local arrays.
    Dims shape(VariableId variable, std::uint64_t step = this_step) const;
    std::vector<Block> blocks(VariableId variable, std::uint64_t step = this_step) const;
    // In each dimension the most that any block has; what the first block has.
    Dims largest_block(VariableId variable, std::uint64_t step = this_step) const;
    Dims first_block(VariableId variable, std::uint64_t step = this_step) const;
    std::uint64_t block_count(VariableId variable, std::uint64_t step = this_step) const;
    std::optional<MinMax> minmax(VariableId variable,
                                 std::uint64_t step = this_step) const; // over all blocks
    // Random access: the steps that have the variable; how many; the index-th of them (nullopt: it has
    // fewer). The first call looks at the metadata of every step, later ones at that of new steps.
    std::vector<std::uint64_t> available_steps(VariableId variable) const;
    std::uint64_t available_count(VariableId variable) const;
    std::optional<std::uint64_t> available_step(VariableId variable, std::uint64_t index) const;

    // The box start, count of a global, joined or local_value array into packed memory (the writer's order).
    // Elements that no block covers are left untouched. Where blocks overlap any one of them counts.
    void get(VariableId variable, DimsView start, DimsView count, void* memory, Mode mode = Mode::deferred,
             std::uint64_t step = this_step);
    // One block; start and count relative to the block (empty: all of it).
    void get_block(VariableId variable, std::uint64_t block, DimsView start, DimsView count, void* memory,
                   Mode mode = Mode::deferred, std::uint64_t step = this_step);
    // A value that is no string, taken at once; block: which of a local value's.
    void get_value(VariableId variable, void* memory, std::uint64_t block = 0,
                   std::uint64_t step = this_step) const;
    std::string get_string(VariableId variable, std::uint64_t block = 0,
                           std::uint64_t step = this_step) const;
    // Stream mode: as long as it stays, the current step has the variables, shapes and blocks of the step
    // before.
    std::uint64_t geometry() const;

    // Undoes operators that blocks went through (Writer::operate). Without it such a block is -DER_NOSYS,
    // unless Stepstore can undo it itself.
    void undo_operators(UndoOperator undo);

    // Fetches everything that was deferred, in as few requests as possible. When it throws, all deferred gets
    // are dropped.
    void perform_gets();
    // Drops what deferred gets would bring into this memory. A get that throws has done so itself.
    void forget_gets(MutableBytes memory) noexcept;

    // Several threads, at random, each with a queue: the calls take turns, and the data of several queues is
    // fetched at once.
    using Lock = std::unique_lock<std::recursive_mutex>;
    [[nodiscard]] Lock lock() const;
    // Locks for itself. undo: as undo_operators(); called without the lock.
    GetQueue new_queue(UndoOperator undo) const;
    // Gets that follow, and forget_gets(), are of this queue, until it is swapped back.
    void swap_queue(GetQueue& queue) noexcept;
    // perform_gets() of this queue. `held` is locked once, and unlocked as long as data is fetched. No other
    // thread uses this queue meanwhile, or closes the reader.
    void perform_gets(DataReads& queue, Lock& held);

    std::vector<std::string> attribute_names(std::uint64_t step = this_step) const; // sorted
    // How often attributes were set up to the step, as far as known: as long as it stays, so do the
    // attributes.
    std::uint64_t attribute_changes(std::uint64_t step = this_step) const;
    std::optional<Attribute> attribute(std::string_view name, std::uint64_t step = this_step) const;

    // With ReaderOptions::profile: collective, -DER_IO when the profile cannot be stored.
    void close();

    const Location& location() const;
    Order order() const;
    std::uint64_t generation() const;
    std::string writer_profile_json() const; // what the writers stored at close; empty: nothing stored (yet)
    // What the last readers stored that closed with ReaderOptions::profile; empty: there were none.
    std::string readers_profile_json() const;
    std::string profile_json() const; // this reader's own
    const Costs& costs() const;       // this rank's so far
    StreamDescription describe() const;

private:
    class Impl;
    OfProcess<OwnState::stream_reader, Impl> impl_;
};

} // namespace stepstore::steps

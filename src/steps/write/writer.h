// Writes a stream of steps. One Writer per rank; all ranks of the communicator write one stream.
//
// Collective: construction, close; with the layouts `posix` and `array` also end_step, and with aggregators
// (WriterOptions::ranks_per_aggregator) among those that have one together. All other calls are local: ranks
// may define, put and set attributes differently, in any order. Not for concurrent use by several threads.
//
// A step becomes visible whole when the last rank's end_step is done, without waiting for the next step. A
// writer that dies leaves every step before readable.
//
// Opening for write replaces a stream of the same name, or appends to it (WriterOptions::append), on any
// number of ranks. Readers of a replaced stream go on until they notice (-DER_STALE).
//
// One writer at a time writes a stream, from opening until close(), or until rank 0's Writer is destroyed or
// its process dies. Another one gets -DER_BUSY, with a message that names this one.
//
// With WriterOptions::async_write end_step returns when it has a copy of all that was put, and the metadata.
// The rest is done beside the program (write/beside.h), or by the next begin_step or close where the ranks
// exchange something in the step; these are then collective. begin_step and close wait until this rank's part
// is published, and throw what end_step would. Of a step that no begin_step or close has waited for nothing
// is promised, but that it is whole or not there.
//
// After an Error from end_step that step is lost, and only close() is allowed. It ends the stream after the
// last whole step. The other ranks get the error from end_step or close(). A rank that has ended steps which
// are not kept gets an error from close() in any case. The others do not wait for a rank
// whose Writer is destroyed without close(), or whose process dies. They get -DER_CANCELED, and the stream is
// as after a dead writer. Other errors leave the writer usable.
//
// A forked child gets -DER_NO_HDL from every call of a Writer of its parent's, and its end leaves what its
// parent writes alone.
#pragma once

#include "base/function_ref.h"
#include "base/own_state.h"
#include "comm/communicator.h"
#include "location/find/location.h"
#include "steps/block_operator.h"
#include "steps/stream/options.h"
#include "steps/types.h"
#include "steps/write/pieces.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepstore::steps {

struct Costs; // profile/profile.h

class Writer {
public:
    // Makes pool, container and stream where they are missing (rank 0). Errors are thrown on every rank:
    // -DER_BUSY: another writer is at work; -DER_INVAL: an option, or one that contradicts the stream that is
    // appended to.
    Writer(const std::string& location, const WriterOptions& options,
           std::shared_ptr<Communicator> communicator);
    // Without close(): the stream stays, not marked as ended; a step that was begun is dropped. It waits for
    // the thread beside the program.
    ~Writer();
    Writer(Writer&&) noexcept;
    Writer& operator=(Writer&&) noexcept;

    // Optional, and then all ranks call it together before the first step: what each will define, and with
    // which shapes. If all ranks say the same, they need not compare it in that step, which takes requests.
    void agree(std::vector<Claim> claims);

    // The number of the step that begins, from 0 (appending: from the number of steps that were kept).
    // -DER_INVAL: a step is open already, or the writer is closed. With async_write also the errors of the
    // end_step before.
    std::uint64_t begin_step();
    bool in_step() const;

    // A variable's id, from 0, the same for the same name. May be called any time. structure: of the type
    // `structure`. -DER_INVAL: defined before with another type, kind or structure, an empty name, a string
    // that is an array, or a struct that cannot be (fault_of()).
    VariableId define(std::string_view name, Type type, ShapeKind kind,
                      std::shared_ptr<const Structure> structure = nullptr);

    // How the blocks of an array are stored that are put from now on, instead of WriterOptions::compression.
    // A block that does not get shorter is stored as it is; readers are told nothing. -DER_NOSYS: not in this
    // build; -DER_INVAL: no such level or variable.
    void compress(VariableId variable, const Compression& compression);

    // Blocks of an array that are put from now on go through the operator, instead of a compression; nullptr:
    // no more. Blocks of one element do not. Readers need the operator again (Reader::undo_operators).
    // -DER_NOTSUPPORTED: the variable's elements are structs.
    void operate(VariableId variable, std::shared_ptr<BlockOperator> through);

    // The shape of a global array is what end_step is told. Until then its blocks may lie outside of it.
    void reshapable(VariableId variable);

    // One block of an array. `shape`: the global box, empty for local arrays. Its size may change from step
    // to step; within a step, that of the rank's last put counts for all its blocks, unless end_step is told
    // another one. `start`, `count`: the block; start is empty for local and joined arrays. Any may be of
    // zero elements. `data`: the elements, packed. A deferred block of at least
    // WriterOptions::min_deferred_size bytes must stay as it is until perform_puts or end_step; other memory
    // is free again on return. -DER_INVAL: no open step, a block outside of a shape that is not reshapable,
    // or another number of dimensions than start or count. The message names the variable and the step.
    void put(VariableId variable, const BlockGeometry& block, const void* data, Mode mode);
    void put(VariableId variable, DimsView shape, DimsView start, DimsView count, const void* data,
             Mode mode = Mode::deferred)
    {
        put(variable, {shape, start, count}, data, mode);
    }
    // A global or local value. A second put in one step replaces the first.
    void put_value(VariableId variable, const void* value);
    void put_string(VariableId variable, std::string_view value);
    // Room for a block that the program fills until end_step, in the library's memory: a put without a copy
    // of its own. extremes: its minimum and maximum, if the program knows them already.
    std::span<std::byte> put_span(VariableId variable, DimsView shape, DimsView start, DimsView count,
                                  const MinMax* extremes = nullptr);
    // A block that lies elsewhere, such as in the memory of a device. fetch(to, at) writes its bytes that
    // begin at byte `at`. It is called on this thread, before put_from returns. A block of at least two
    // pieces (write/pieces.h) that is stored as it is takes their memory. Another thread writes one while the
    // next is fetched, but not with async_write. Other blocks are fetched whole. extremes: minimum and
    // maximum, if they are known. stays: the block is fetched whole into the memory that is returned, and
    // stays there until end_step.
    // After an Error of the store, or what fetch throws, the step is lost: end_step throws the same.
    // Pieces lie in the memory of fetch_into(), if that was called before.
    std::span<std::byte> put_from(VariableId variable, const BlockGeometry& block, const MinMax* extremes,
                                  Fetch fetch, bool stays = false);

    // Where the pieces of put_from lie, until close() or the end of the Writer, which `memory` outlives.
    // Before the first put_from. nullptr: ordinary memory.
    void fetch_into(const PieceMemory* memory);

    // From this step on (before the first step: from step 0 on). Setting the same value again costs nothing;
    // another value or type replaces it from this step on. One rank's is enough: where several ranks differ,
    // the lowest rank that set it counts.
    void attribute(std::string_view name, Type type, const void* data, std::uint64_t count,
                   bool array = false);
    void attribute(std::string_view name, std::span<const std::string> values, bool array = false);
    void attribute(const Attribute& attribute); // with as many bytes or strings as its type and count say

    // Writes what was deferred to the data objects (with WriterOptions::async_write: copies it); not
    // collective.
    void perform_puts();
    // The same, and with async_write all that was put so far is written, beside the program. It first waits
    // for what was put before the last call.
    void write_puts();
    // Writes everything that was put so far, spans too, and the program's memory is free again. The step
    // stays open. Not collective. After an Error from it the step is lost: end_step gives that Error.
    void end_part();
    // Writes the rest and publishes this rank's part of the step, with async_write beside the program.
    // -DER_INVAL: another rank has put a variable of the same name with another type or shape. -DER_CANCELED:
    // another rank has failed, left or died.
    void end_step();
    // The same. First shape_now is asked for the shape of each array that this rank has put with one: it
    // counts for all blocks of the variable in the step. Empty: the shape of its last put does. -DER_INVAL: a
    // block lies outside.
    void end_step(FunctionRef<DimsView(VariableId)> shape_now);
    // Ends an open step, records the number of steps, stores the profile. Collective. A second close does
    // nothing.
    void close();

    std::uint64_t
    steps() const; // the number of the next step, or of the open one: steps kept and ended by this rank
    const Location& location() const;
    std::uint64_t metadata_bytes() const; // of the metadata this rank has stored
    std::string profile_json() const;     // this rank's, see profile.h
    const Costs& costs() const;           // this rank's so far

private:
    class Impl;
    OfProcess<OwnState::stream_writer, Impl> impl_;
};

} // namespace stepstore::steps

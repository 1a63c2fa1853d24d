// Every choice of a writer and a reader: the design space of the references. A choice that a reader needs is
// recorded in the stream.
// Threads: any; options are values. Errors: -DER_INVAL, which lists what is valid.
#pragma once

#include "steps/compression.h"
#include "steps/types.h"
#include "stepstore/client.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepstore::steps {

enum class Readers : std::uint8_t {
    delegate = 1, // rank 0 reads and broadcasts
    everyone = 2, // each reads for itself
    // everyone, for the steps of a stream that had ended when it was opened, where all ranks and the pool are
    // on one machine; else delegate
    automatic = 3,
};
enum class ReadMode : std::uint8_t { stream = 1, random_access = 2 };

// deferred: the memory is the library's until perform_puts/perform_gets/end_step. sync: the call is done with
// it on return.
enum class Mode : std::uint8_t { deferred, sync };

struct WriterOptions {
    // Where the metadata of a step lies (docs/design/steps.md compares the layouts). Empty: the first of
    // layouts() or, when appending, what the stream has.
    std::string layout;
    // The metadata objects; empty: what the stream has when appending. For a new stream one for all steps or,
    // in a pool in files that is written from several machines, per_machine. check_options() refuses what
    // the layout cannot have.
    std::optional<Objects> objects;
    // per_machine: so many ranks in a row have a metadata object together. 0: as many as the ranks of the
    // group that run on one machine, or, when appending, what the stream has.
    std::uint32_t ranks_per_object = 0;
    // So many ranks in a row hand their metadata over to the first of them, which stores it for all; each
    // then waits for all of these in end_step. 1: each stores its own. 0: that or, in a pool in files that is
    // written from several machines by many ranks, usual_ranks_per_aggregator() (layouts/aggregation.h);
    // when appending, what the stream has. Only for layouts without an exchange (Layout::aggregates), and not
    // with step_mode snapshot.
    std::uint32_t ranks_per_aggregator = 0;
    // Where the metadata of the next step goes; empty: after that of the steps before or, when appending,
    // as in the stream. snapshot: not for layouts with data in files, nor with an object for each step.
    std::optional<StepMode> step_mode;
    // of the metadata array, bytes; 0: the layout's default
    std::uint64_t chunk_size = 0;
    std::string object_class; // of the metadata object; empty: "SX" or, for one rank in a pool of files, "S1"
    std::uint64_t data_chunk_size = 0; // of the data arrays, bytes; 0: 1 MiB
    std::string data_object_class;     // of the data arrays; empty: "SX"
    Order order = Order::row_major;
    bool statistics = true; // min/max of every block
    bool profile = true;    // gathered on rank 0 at close, kept in the stream and as a file: profile_record.h
    // Blocks below this many bytes are copied when they are put, and written together. Larger ones go from
    // the user's memory. The default is that of ADIOS2's BP5.
    std::uint64_t min_deferred_size = 4 << 20;
    // A step's data is written, and the step published, beside the program's computation: write/writer.h. All
    // that is put in a step is copied, and kept until it is written: as much memory as the step has bytes.
    bool async_write = false;
    Compression compression;                                          // of the data blocks
    CompressionMethod metadata_compression = CompressionMethod::none; // of the metadata: none or zstd
    // Appends to a stream that is there instead of replacing it; where there is none, it is made. Steps,
    // layout and sizes of the stream stay: an option above that asks for another one is an error. Definitions
    // begin again, and may add variables to those of the steps before, not change them.
    bool append = false;
    // How many of the steps to keep, as in ADIOS2's BP5: the others are removed. More than there are: all.
    // Negative: counted from the end, -1 all, -2 all but the last; fewer than there are: none.
    std::int64_t append_after = INT64_MAX;
    // After so many seconds without a sign of life a writer on another machine counts as dead, and this one
    // takes over. This one gives a sign every third of that time. 0: takes over at once, and gives none. It
    // is not needed to tell whether a writer on the same machine is dead.
    double writer_timeout = 30.0;
    // Used only when the pool has to be made.
    Durability durability = Durability::process;
    unsigned targets = 0; // 0: the usual number, see PoolOptions

    // Sets one by its name, in upper or lower case. Names: Layout, Objects, RanksPerObject,
    // RanksPerAggregator, Steps, ChunkSize, ObjectClass, DataChunkSize, DataObjectClass, StatsLevel (0;
    // more: 1), Profile (on, off), MinDeferredSize, AsyncWrite (as BP5's), Compression (none, zstd,
    // blosc2-lz4, blosc2-zstd), CompressionLevel, MetadataCompression (none, zstd), Durability, Targets,
    // AppendAfterSteps, WriterTimeoutSecs. Sizes take k, M, G (powers of 1,024). False: there is no such
    // name. -DER_INVAL: a bad value; the message lists the valid ones.
    bool set(std::string_view name, std::string_view value);
    static std::vector<std::string> names();
    // Of Layout, Objects and Steps: the values there are, the default first. Of others: nothing.
    static std::vector<std::string> choices(std::string_view name);
};

struct ReaderOptions {
    ReadMode mode = ReadMode::stream;
    // The stream as it was at this snapshot of its container (an epoch); 0: as it is. Not for the layout
    // posix (-DER_NOSYS).
    std::uint64_t snapshot = 0;
    Readers readers = Readers::automatic;
    // bytes of following steps' metadata fetched along with a step; 0: none. Unset: none where each rank
    // reads for itself from a pool on its machine; else 1 MiB or, where it is more, two steps, up to 128 MiB.
    std::optional<std::uint64_t> read_ahead;
    // Only these steps, counted from 0 as if there were no others: step_selection.h. Empty: all.
    std::string select_steps;
    double open_timeout = 0.0; // seconds to wait for a stream that is not there yet; negative: for ever
    // seconds between two looks for the next step; grows to 4 times that while nothing comes
    double poll_interval = 0.001;
    // gathered on rank 0 at close, which is collective then, and kept: profile_record.h
    bool profile = false;

    // As WriterOptions::set: Readers, ReadAhead, SelectSteps, OpenTimeoutSecs,
    // BeginStepPollingFrequencySecs, Profile.
    bool set(std::string_view name, std::string_view value);
    static std::vector<std::string> names();
    static std::vector<std::string> choices(std::string_view name); // of Readers
};

std::string_view name_of(Objects objects); // as users write it
std::string_view name_of(StepMode mode);

// -DER_INVAL: a value out of range; the message lists the valid ones.
void check_options(const WriterOptions& options);
void check_options(const ReaderOptions& options);

} // namespace stepstore::steps

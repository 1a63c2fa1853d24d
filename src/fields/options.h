// What can be chosen. The process that makes a dataset settles its DatasetOptions. They are stored in it, and
// later writers and all readers take them from there. WriterOptions belong to one process and change nothing
// that a reader sees.
// Threads: any; pure. Errors: -DER_INVAL, which lists what is valid.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace stepstore::fields {

struct DatasetOptions {
    // Fields below so many bytes share array objects, several in each; larger ones get one each. 0: never.
    std::uint64_t pack_below = 128 << 10;
    std::uint64_t pack_size = 1 << 20; // bytes: an object of small fields is full from here on
    std::string data_class = "S1";
    std::string index_class = "S1";
    std::uint64_t chunk_size = 1 << 20; // bytes of a data array that lie together on one target
    // Readers compare fields with their checksums (stored in any case). Without, as FDB's files, where that
    // takes time: fields from 64 KiB on.
    bool verify = true;
};

struct WriterOptions {
    // archive() copies the bytes and returns; they are written meanwhile, and flush() waits. Otherwise
    // archive() writes (small packed fields excepted, which are written together).
    bool asynchronous = false;
    std::uint64_t in_flight = 64 << 20; // bytes that may be under way; archive() waits beyond
    // The fields are indexed by a catalogue that is not this dataset's: purge then takes no field for
    // unreferenced.
    bool indexed_elsewhere = false;
};

// From text, as a configuration file has it. Options: packBelow, packSize, chunkSize (bytes, also with KiB,
// MiB, GiB), dataClass, indexClass, verify (true, false), asynchronous (true, false), inFlight. -DER_INVAL:
// another name or value; the message lists the valid ones.
struct Options {
    DatasetOptions dataset;
    WriterOptions writer;
};
Options parse_options(const std::map<std::string, std::string>& settings);

} // namespace stepstore::fields

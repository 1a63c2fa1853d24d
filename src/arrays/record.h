// What is stored of an array beside its data, as bytes (docs/format-arrays.md): the header, tables of blocks,
// attributes, and the marks of those who write.
// Threads: any; pure. Errors: decoding gives -DER_CSUM, -DER_DF_INVAL or -DER_DF_INCOMPT, and never reads
// beyond the bytes.
#pragma once

#include "arrays/types.h"
#include "base/process.h"

#include <string>
#include <vector>

namespace stepstore::arrays {

struct StoredBlock {
    Box box;
    std::uint64_t object = 0; // number of its data object
    std::uint64_t offset = 0; // bytes
    friend bool operator==(const StoredBlock&, const StoredBlock&) = default;
};

// Data objects with consecutive numbers.
struct ObjectRange {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    friend bool operator==(const ObjectRange&, const ObjectRange&) = default;
};
// Adds objects after those that are there; ranges that meet become one.
void add_objects(std::vector<ObjectRange>& ranges, ObjectRange fresh);

inline constexpr std::uint64_t most_chunk_size = std::uint64_t{1} << 40; // bytes

// How data objects are made: what one has to know to open them.
struct DataLayout {
    std::string object_class = "SX";
    std::uint64_t chunk_size = 1 << 20; // bytes
    bool checksum = false;              // after each block, one per chunk_size of its bytes
    friend bool operator==(const DataLayout&, const DataLayout&) = default;
};

// A table of blocks: in the header itself, or under a key of its own.
struct TableRef {
    std::uint64_t number = 0;
    std::uint32_t level = 0;         // 0: of one write; n + 1: of `tables_merged` tables of level n
    std::uint64_t blocks = 0;        // in it
    std::vector<std::byte> in_place; // the table; empty: under its key
    friend bool operator==(const TableRef&, const TableRef&) = default;
};

struct Header {
    std::string name;
    std::uint64_t version = 0;    // of all changes of the array under this name
    std::uint64_t generation = 0; // another one: other data objects
    bool removed = false;         // there is no array, only what is left of one
    ElementType type;
    Order order = Order::row_major; // of the program that wrote
    unsigned dimensions = 0;
    Extents shape{};
    std::optional<unsigned> grows_along; // dimension that it was appended along
    DataLayout layout;
    std::vector<ObjectRange> objects;
    std::vector<TableRef> tables;
    std::uint64_t next_table = 0;
    // What this version took the place of: to be destroyed by the writer, or by the next one.
    std::vector<ObjectRange> dropped_objects;
    std::string dropped_class;
    std::vector<std::uint64_t> dropped_tables;
    friend bool operator==(const Header&, const Header&) = default;
};
std::uint64_t blocks_in(const Header& header);
std::vector<std::byte> encode(const Header& header);
// what: the array, for messages. -DER_CSUM, -DER_DF_INVAL, -DER_DF_INCOMPT.
Header decode_header(Bytes bytes, const std::string& what);

std::vector<std::byte> encode_table(std::span<const StoredBlock> blocks, unsigned dimensions);
// of: the header of the array. Each block lies within its shape, and in one of its objects; else
// -DER_DF_INVAL.
void decode_table(Bytes bytes, const Header& of, const std::string& what, std::vector<StoredBlock>& into);

// Objects that a writer fills, and has not published yet.
struct WritingMark {
    ProcessIdentity writer;
    std::uint64_t since = 0; // seconds since 1970
    std::string object_class;
    std::vector<ObjectRange> objects;
};
std::vector<std::byte> encode(const WritingMark& mark);
WritingMark decode_mark(Bytes bytes, const std::string& what);
struct WritingForm { // in the head of the array (client/unpublished.h)
    using Mark = WritingMark;
    static std::vector<std::byte> encode(const Mark& mark) { return arrays::encode(mark); }
    static std::optional<Mark> decode(Bytes bytes, const std::string& what); // nullopt: it is damaged
    static const ProcessIdentity& process(const Mark& mark) { return mark.writer; }
};

struct Attribute {
    ElementType type;
    std::uint64_t count = 0;
    std::vector<std::byte> values;
    friend bool operator==(const Attribute&, const Attribute&) = default;
};
std::vector<std::byte> encode(const Attribute& attribute);
Attribute decode_attribute(Bytes bytes, const std::string& what);

} // namespace stepstore::arrays

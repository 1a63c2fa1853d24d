// The records of the catalogue as bytes (docs/format-fields.md): one frame for all, and the small ones.
// Threads: any; pure. Errors: decoding gives -DER_DF_INVAL, -DER_CSUM or -DER_DF_INCOMPT.
#pragma once

#include "base/process.h"
#include "base/record.h"
#include "client/unpublished.h"
#include "fields/dataset.h"

#include <optional>
#include <string>
#include <vector>

namespace stepstore::fields {

enum class Magic : std::uint32_t {
    root = 0x52465353,        // "SSFR"
    dataset = 0x44465353,     // "SSFD"
    collocation = 0x43465353, // "SSFC"
    writer = 0x57465353,      // "SSFW"
    row = 0x49465353,         // "SSFI"
    part = 0x50465353,        // "SSFP"
};

inline constexpr std::size_t frame_size = frame_size_of<std::uint16_t>;

// The frame of base/record.h, with the version of the fields' format.
std::vector<std::byte> framed(); // room for it
void seal(std::vector<std::byte>& bytes, Magic magic);
Bytes unseal(Bytes bytes, Magic magic, const std::string& what);

std::vector<std::byte> encode_root(const std::string& container);
std::string decode_root(Bytes bytes, const std::string& what);
std::vector<std::byte> encode_dataset(const DatasetRecord& record);
DatasetRecord decode_dataset(Bytes bytes, const std::string& what);
std::vector<std::byte> encode_collocation(std::uint64_t index_object);
std::uint64_t decode_collocation(Bytes bytes, const std::string& what);

// A range of numbers that a process took. The first is its number as a writer; objects have the others.
struct WriterRecord {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    ProcessIdentity process;
};
std::vector<std::byte> encode_writer(const WriterRecord& record);
WriterRecord decode_writer(Bytes bytes, const std::string& what);
struct WriterForm { // a damaged one is an error
    using Mark = WriterRecord;
    static std::vector<std::byte> encode(const Mark& mark) { return encode_writer(mark); }
    static std::optional<Mark> decode(Bytes bytes, const std::string& what)
    {
        return decode_writer(bytes, what);
    }
    static const ProcessIdentity& process(const Mark& mark) { return mark.process; }
};

// Keys of the dataset key-value.
inline constexpr char record_key[] = "record";
inline constexpr char elsewhere_key[] =
    "indexed-elsewhere"; // there: fields of this store have another catalogue
inline constexpr char collocation_prefix[] = "c/";
inline constexpr char writer_prefix[] = "w/"; // writers_of()
inline constexpr char attribute_prefix[] = "a/";
inline constexpr char control_prefix[] = "x/";
// Of the root's.
inline constexpr char root_prefix[] = "d/";
inline constexpr char claim_prefix[] = "m/"; // Session::claim
inline constexpr char root_container[] = "stepstore-fields";
inline constexpr char dataset_container_prefix[] = "fields-";

// Of the root and the dataset key-values: small, and listed more often than written, so all of it on one
// target.
inline ObjectId main_id(const Container& container)
{
    return container.object_id(0, 0, ObjectType::key_value, "S1");
}
// The registered writers of a dataset: what they have not published, purge takes back.
inline Unpublished<WriterForm> writers_of(const Dataset& dataset)
{
    return {dataset.key_value(), writer_prefix, "a writer of " + dataset.name()};
}
// The user's half of the ids' upper part.
inline constexpr std::uint32_t index_hi = 0x53530101;
inline constexpr std::uint32_t data_hi = 0x53530103;

} // namespace stepstore::fields

// The head of an array: a key-value object whose id is made from the array's name. It holds the header,
// large tables of blocks, the attributes, and marks of those who write (docs/format-arrays.md).
//
// How an array is written, and how a new version takes the place of the old one:
// 1. The writer puts "writing/GENERATION", which names the data objects that it is about to fill. They are
//    fresh: their numbers were never used. Then it fills them.
// 2. It reads the header, makes the new one from it, and puts the tables that the new one names. No other
//    header names these tables.
// 3. It puts "header", if that is as it read it. With this put the new version is there, whole. The header
//    also names what it took the place of. If another writer was faster, this one removes its tables, and
//    begins again with 2.
// 4. It removes its mark, and destroys what the old version had.
// A writer that dies before 3 leaves the old version, and a mark by which the next writer of this array finds
// what to destroy (client/unpublished.h). One that dies after 3 leaves the new version, in whose header the
// next writer finds the same. To destroy twice does no harm.
//
// If the put of 3 is in doubt (client/in_doubt.h), nothing is destroyed, and the mark stays. The writer
// destroys what the put would have named after it published a later version that does not name it. Otherwise
// the writer does that which collects what the dead have left.
//
// A reader reads the header, the data, and the header again. Where the generation is the same, nothing of
// what it read was destroyed before the second look, since 4 comes after 3. Otherwise it begins again.
//
// Nobody waits for another writer, so none has to be told dead from alive. Of several that publish at once
// one succeeds each time. A version is never there twice, so neither are the bytes of a header. A process
// that was stopped, and goes on later, finds another header in 3. It has read what it removes of an older
// array, attributes and the entry in the name list, before 3. It removes these after 3 if they are still the
// same.
//
// Threads: one at a time for each Head. Errors: -DER_CSUM and -DER_DF_INVAL for damage, -DER_MISMATCH for two
// names with one id, and what the store says.
#pragma once

#include "arrays/record.h"
#include "client/unpublished.h"
#include "stepstore/client.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stepstore::arrays {

// From the name's MD5; of "" the location's own, which has attributes only.
ObjectId head_id(const Container& container, const std::string& name);
// Names as keys. What is in it may be an array, the head says so.
KeyValue open_name_list(const Container& container, Access access);
ObjectId data_id(const Container& container, std::uint64_t number, const std::string& object_class);

inline constexpr std::size_t longest_name = 1024;

class Head {
public:
    // name: as it is; where: "array 'T' in POOL/CONTAINER", for messages.
    Head(const Container& container, std::string name, std::string where, Access access);

    const std::string& name() const { return name_; }
    const std::string& where() const { return where_; }

    // nullopt: there is none, also where one was removed. -DER_MISMATCH: another name has this id.
    std::optional<Header> header() const;
    bool exists() const; // also where the header is damaged
    std::optional<std::vector<std::byte>> header_bytes() const { return object_.get_nonempty("header"); }
    Header decode(Bytes bytes) const;
    // The tables of a header, as bytes; nullopt: one is not there any more, so there is a newer header.
    std::optional<std::vector<std::vector<std::byte>>> tables(const Header& header) const;
    std::vector<StoredBlock> decode_tables(const Header& header,
                                           std::span<const std::vector<std::byte>> tables) const;

    Unpublished<WritingForm> unpublished(); // marks of writers, each under its generation
    // Under this number or, if others have left a table there, the next free one, which it returns.
    std::uint64_t put_table(std::uint64_t number, Bytes table);
    // Destroys what dead writers have left: what their marks name, and what the header has dropped.
    void collect(const Container& container);
    // Of a publication in doubt, when `header` has a later version: destroys the objects that it would have
    // named, unless this header does, and removes their mark.
    void settle(const Container& container, const Header& header, const ObjectRange& objects,
                const std::string& object_class);

    // Steps 2 and 3. make: from the header that is there (nullopt: none, or a damaged one) to the new one,
    // whose version is set here. It is called again if another writer was faster.
    Header publish(const std::function<Header(const std::optional<Header>&)>& make);
    // Step 4, of the old version.
    void destroy_dropped(const Container& container, const Header& header);
    void set_attribute(const std::string& attribute, const Attribute& value);
    std::optional<Attribute> attribute(const std::string& attribute) const;
    bool remove_attribute(const std::string& attribute);
    std::vector<std::string> attributes() const; // sorted
    // Those of an array that is removed: read before the removal, and removed when another header is there.
    using Attributes = std::vector<std::pair<std::string, std::vector<std::byte>>>;
    Attributes stored_attributes() const;
    void remove_attributes(const Attributes& stored);

private:
    std::optional<Header> if_sound(Bytes bytes) const;
    std::optional<Header> any_header() const; // also of a removed one; nullopt: damaged, or none
    struct Seen {
        std::optional<std::vector<std::byte>> bytes;
        std::optional<Header> header; // as any_header()
    };
    Seen look() const;
    void collect_tables(const Header& header);
    std::vector<std::string> keys_with(std::string_view prefix) const;

    KeyValue object_;
    std::string name_;
    std::string where_;
};

void destroy_objects(const Container& container, std::span<const ObjectRange> objects,
                     const std::string& object_class);

} // namespace stepstore::arrays

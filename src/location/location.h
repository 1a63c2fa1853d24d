// The grammar of locations, for C++, C and Python alike. It reads text alone. It looks at no file, no cluster
// and no environment. What lies at a location is found by location/find.
//
//   PATH, local:PATH             A path of a file system: a pool, or a place in one. A bare name is a path.
//   shared:PATH                  A path too, of a pool in files, which machines may share.
//   local:LABEL[/REST]           LABEL, without '/', may be the label or UUID of a pool under the root
//                                directory. Only a look tells whether it is that or a path.
//   rados://CEPHPOOL[/NAMESPACE[/REST]]
//                                A namespace of a Ceph pool is a pool. An empty one is the default namespace,
//                                as in rados://CEPHPOOL//REST.
//   daos://POOL[/REST]           On a real DAOS system.
//   stepstore://LOCATION         Any of these, for programs that take only URLs.
//
// REST names something in the pool: CONTAINER[/STREAM], CONTAINER/HI.LO[/KEY], or CONTAINER/BLOB. Nothing is
// decoded: a '%' is a '%'. Only a KEY may have %xx, for its bytes (unescape() of Python).
//
// Threads: all is pure. Errors: -DER_INVAL, with the location and the forms there are.
#pragma once

#include "location/capabilities.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepstore {

struct LocationForm {
    std::string_view scheme; // "rados://", "shared:"; empty: paths and labels
    unsigned names = 0; // parts after the scheme that name the pool: the first one is not empty. 0: a path
    Capabilities capabilities;
};

// By the scheme alone. -DER_INVAL: it begins with SCHEME://, which Stepstore does not know.
const LocationForm& form_of(std::string_view location);
inline const Capabilities& capabilities_of(std::string_view location)
{
    return form_of(location).capabilities;
}
extern const LocationForm& rados_form;
// Of pools whose path is a directory.
extern const LocationForm& path_form;
extern const LocationForm& shared_form;
// What the directory of a pool in files has, and that of no other pool.
inline constexpr const char* files_header = "stepstore.files";

struct LocationParts {
    const LocationForm& form;
    bool is_path() const { return form.names == 0; }
    // Of a form that is no path.
    std::vector<std::string> names = {}; // as many as the form has
    std::string pool = {};               // as Pool::connect takes it: the scheme and the names
    std::string rest = {};               // what follows the pool, as it was given
    // Of a path.
    std::string path =
        {}; // after local: or shared:. How much of it is the pool, only a look tells. Not empty
    bool after_local = false;
    std::string label = {}; // after local:, the first part, if it has the form of a label or UUID
};
LocationParts parse_location(std::string_view location);

// A label of a pool (1 to 127 characters of A-Z a-z 0-9 . _ : -, not "." or ".."), or a UUID.
bool is_pool_label(std::string_view name);

// "a//b/" -> "a/b"; a leading '/' stays.
std::string without_empty_parts(std::string_view path);

// The same place by one spelling, which means it in every working directory. It has no stepstore://, no empty
// part and no '.'. A relative path begins at `directory`, which is absolute. '..' stays. So does what follows
// local: and may be a label. -DER_INVAL: as of parse_location().
std::string absolute_location(std::string_view location, std::string_view directory);

struct ContainerAndStream {
    std::string container = "default";
    std::string stream = "main"; // may hold further '/'
    bool container_given = false, stream_given = false;
};
// Takes `rest` apart. Parts that are empty do not count. -DER_INVAL: a part "." or "..", or a container's or
// stream's name longer than 127 or 1,024 bytes. location: for the message.
ContainerAndStream parse_names(std::string_view rest, std::string_view location);

struct ObjectPart {
    std::uint64_t hi = 0, lo = 0;
    std::optional<std::string> key; // as it was given
};
// HI.LO[/KEY] in decimal; nullopt: not of this form. -DER_INVAL: of this form, but a number of 2^64 or more.
std::optional<ObjectPart> parse_object(std::string_view rest);

[[noreturn]] void refuse_location(std::string_view location, const std::string& why);

} // namespace stepstore

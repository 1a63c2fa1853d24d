#include "uri.h"

#include "failure.h"
#include "field_location.h"

#include "eckit/filesystem/PathName.h"
#include "eckit/filesystem/URIManager.h"
#include "eckit/io/DataHandle.h"

#include <charconv>

namespace stepstore::fdb_plugin {
namespace {

constexpr std::string_view object_prefix = "data.";
constexpr std::string_view index_prefix = "index.";

// So that eckit can read, print and open our URIs.
class UriManager final : public eckit::URIManager {
public:
    UriManager() : URIManager(type_name) {}

private:
    bool query() override { return true; }
    bool fragment() override { return true; }
    bool exists(const eckit::URI& uri) override { return there_is(uri); }
    eckit::DataHandle* newWriteHandle(const eckit::URI& uri) override
    {
        refuse("cannot write to " + uri.asRawString() + ": archive fields through FDB");
    }
    eckit::DataHandle* newReadHandle(const eckit::URI& uri) override
    {
        return StepstoreFieldLocation(uri).dataHandle();
    }
    eckit::DataHandle* newReadHandle(const eckit::URI& uri, const eckit::OffsetList& offsets,
                                     const eckit::LengthList& lengths) override
    {
        return handle_on_parts(uri, offsets, lengths);
    }
    std::string asString(const eckit::URI& uri) const override { return uri.asRawString(); }
    eckit::PathName path(const eckit::URI& uri) const override { return eckit::PathName(uri.name()); }
};

const UriManager manager;

std::string encoded(std::string_view text, std::string_view unsafe)
{
    std::string path;
    fields::append_escaped(path, text, [&](char character) {
        return static_cast<unsigned char>(character) > 0x20 &&
               unsafe.find(character) == std::string_view::npos;
    });
    return path;
}

std::string decoded(std::string_view path)
{
    std::string text;
    for (std::size_t at = 0; at < path.size(); ++at) {
        unsigned code = 0;
        if (path[at] == '%' && at + 2 < path.size() &&
            std::from_chars(path.data() + at + 1, path.data() + at + 3, code, 16).ptr ==
                path.data() + at + 3) {
            text += static_cast<char>(code);
            at += 2;
        } else {
            text += path[at];
        }
    }
    return text;
}

[[noreturn]] void refuse_uri(const eckit::URI& uri)
{
    refuse("'" + uri.asRawString() +
           "' is not a location: expected stepstore:POOL/CONTAINER, with /data.N for an object");
}

// The last component of `path`, which is cut off.
std::string_view cut_last(std::string_view& path, const eckit::URI& uri)
{
    const auto slash = path.rfind('/');
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == path.size()) refuse_uri(uri);
    const std::string_view last = path.substr(slash + 1);
    path = path.substr(0, slash);
    return last;
}

} // namespace

eckit::URI to_uri(const PoolUri& place)
{
    std::string name =
        encoded(place.pool, place.pool.starts_with('/') ? "%?#" : "%?#/:") + '/' + place.container;
    switch (place.kind) {
    case PoolUri::Kind::dataset: break;
    case PoolUri::Kind::index: (name += '/').append(index_prefix).append(encoded(place.index, "%?#/")); break;
    case PoolUri::Kind::object:
        (name += '/').append(object_prefix).append(std::to_string(place.object));
        break;
    case PoolUri::Kind::data: name += "/data"; break;
    }
    eckit::URI uri(type_name, std::string(), -1);
    uri.path(name);
    return uri;
}

PoolUri parse_uri(const eckit::URI& uri)
{
    if (uri.scheme() != type_name) refuse_uri(uri);
    PoolUri place;
    std::string_view path = uri.name();
    std::string_view last = cut_last(path, uri);
    if (last.starts_with(index_prefix)) {
        place.kind = PoolUri::Kind::index;
        place.index = decoded(last.substr(index_prefix.size()));
    } else if (last == "data") {
        place.kind = PoolUri::Kind::data;
    } else if (last.starts_with(object_prefix)) {
        place.kind = PoolUri::Kind::object;
        const char* end = last.data() + last.size();
        if (std::from_chars(last.data() + object_prefix.size(), end, place.object).ptr != end)
            refuse_uri(uri);
    }
    if (place.kind != PoolUri::Kind::dataset) last = cut_last(path, uri);
    place.container = last;
    place.pool = decoded(path);
    return place;
}

} // namespace stepstore::fdb_plugin

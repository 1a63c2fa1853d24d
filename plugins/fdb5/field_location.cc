#include "field_location.h"

#include "failure.h"
#include "field_handle.h"
#include "keys.h"
#include "settings.h"
#include "uri.h"

#include "eckit/io/MultiHandle.h"
#include "eckit/serialisation/Reanimator.h"

#include <ostream>

namespace stepstore::fdb_plugin {
namespace {

// Of many fields one after the other most lie in one dataset, and small ones in one object.
eckit::URI uri_of(const fields::Dataset& dataset, std::uint64_t object)
{
    thread_local PoolUri last;
    thread_local eckit::URI uri;
    const bool same_dataset =
        last.container == dataset.container_label() && last.pool == dataset.session().location();
    if (!same_dataset || last.object != object) {
        PoolUri place = same_dataset ? last : pool_uri_of(dataset, PoolUri::Kind::object);
        place.object = object;
        uri = to_uri(place);
        last = std::move(place); // only now: an exception before must not leave it beside another one's URI
    }
    return uri;
}

const fdb5::FieldLocationBuilder<StepstoreFieldLocation> location_builder(type_name);

// "OFFSET LENGTH REMAPKEY URI": REMAPKEY is the text of a key, which holds no blank.
std::string foreign_text(const fdb5::FieldLocation& location)
{
    return std::to_string(static_cast<long long>(location.offset())) + ' ' +
           std::to_string(static_cast<long long>(location.length())) + ' ' +
           to_fields(location.remapKey()).text() + ' ' + location.uri().asRawString();
}

std::shared_ptr<const fdb5::FieldLocation> foreign_location(std::string_view text)
{
    std::string parts[3];
    for (auto& part : parts) {
        const auto blank = text.find(' ');
        if (blank == std::string_view::npos)
            refuse("the index holds a location that FDB does not know: '" + std::string(text) + "'");
        part = text.substr(0, blank);
        text.remove_prefix(blank + 1);
    }
    const eckit::URI uri{std::string(text)};
    return std::shared_ptr<const fdb5::FieldLocation>(fdb5::FieldLocationFactory::instance().build(
        uri.scheme(), uri, std::stoll(parts[0]), std::stoll(parts[1]), to_fdb(fields::Key::parse(parts[2]))));
}

} // namespace

eckit::ClassSpec StepstoreFieldLocation::classSpec_ = {&fdb5::FieldLocation::classSpec(),
                                                       "StepstoreFieldLocation"};
eckit::Reanimator<StepstoreFieldLocation> StepstoreFieldLocation::reanimator_;

StepstoreFieldLocation::StepstoreFieldLocation(std::shared_ptr<fields::Dataset> dataset,
                                               const fields::FieldLocation& location)
    : FieldLocation(uri_of(*dataset, location.object), static_cast<long long>(location.offset),
                    static_cast<long long>(location.length), fdb5::Key()),
      dataset_(std::move(dataset)), object_(location.object), checksum_(location.checksum)
{
}

StepstoreFieldLocation::StepstoreFieldLocation(const eckit::URI& uri) : FieldLocation(uri)
{
    uri_.fragment("");
    uri_.query("length", "");
    uri_.query("remapKey", "");
}

StepstoreFieldLocation::StepstoreFieldLocation(const eckit::URI& uri, const eckit::Offset& offset,
                                               const eckit::Length& length, const fdb5::Key& remap)
    : FieldLocation(uri, offset, length, remap)
{
}

StepstoreFieldLocation::StepstoreFieldLocation(eckit::Stream& stream) : FieldLocation(stream)
{
    bool summed = false;
    unsigned long long sum = 0;
    stream >> summed;
    stream >> sum;
    if (summed) checksum_ = sum;
}

void StepstoreFieldLocation::encode(eckit::Stream& stream) const
{
    FieldLocation::encode(stream);
    stream << checksum_.has_value();
    stream << static_cast<unsigned long long>(checksum_.value_or(0));
}

// NOLINTNEXTLINE(bugprone-copy-constructor-init): FDB's class cannot be copied
StepstoreFieldLocation::StepstoreFieldLocation(const StepstoreFieldLocation& other)
    : FieldLocation(other.uri_, other.offset_, other.length_, other.remapKey_),
      std::enable_shared_from_this<StepstoreFieldLocation>(), dataset_(other.dataset_),
      object_(other.object_), checksum_(other.checksum_)
{
}

std::shared_ptr<const fdb5::FieldLocation> StepstoreFieldLocation::make_shared() const
{
    return std::make_shared<StepstoreFieldLocation>(*this);
}

std::shared_ptr<const fdb5::FieldLocation> StepstoreFieldLocation::stableLocation() const
{
    auto self = weak_from_this().lock(); // it never changes
    return self ? self : make_shared();
}

eckit::DataHandle* StepstoreFieldLocation::dataHandle() const
{
    if (!remapKey_.empty()) {
        refuse("cannot read " + uri_.asRawString() + " with the changed key " + to_fields(remapKey_).text() +
               ": only FDB's files support such fields (of overlays)");
    }
    return translated([&] {
        auto dataset = dataset_ ? dataset_ : find_dataset(parse_uri(uri_), Access::read_only);
        if (!dataset) {
            refuse("cannot read " + uri_.asRawString() +
                   ": its dataset is not there: " + why_not_there(parse_uri(uri_)));
        }
        return new FieldHandle({{std::move(dataset), within_dataset()}});
    });
}

void StepstoreFieldLocation::print(std::ostream& out) const
{
    out << "StepstoreFieldLocation[uri=" << uri_ << ",offset=" << offset_ << ",length=" << length_
        << ",remapKey=" << remapKey_ << ']';
}

fields::FieldLocation StepstoreFieldLocation::within_dataset() const
{
    std::uint64_t object = object_;
    if (!dataset_) {
        const PoolUri place = parse_uri(uri_);
        if (place.kind != PoolUri::Kind::object) {
            refuse("'" + uri_.asRawString() +
                   "' does not name a field: expected stepstore:POOL/CONTAINER/data.N");
        }
        object = place.object;
    }
    return {.object = object,
            .offset = static_cast<std::uint64_t>(static_cast<long long>(offset_)),
            .length = static_cast<std::uint64_t>(static_cast<long long>(length_)),
            .checksum = checksum_};
}

fields::Location to_fields(const fdb5::FieldLocation& location, const fields::Dataset& dataset)
{
    const auto* own = dynamic_cast<const StepstoreFieldLocation*>(&location);
    if (own != nullptr && own->remapKey().empty()) {
        const PoolUri place = own->dataset() == &dataset ? PoolUri() : parse_uri(own->uri());
        if (own->dataset() == &dataset || place.same_dataset(pool_uri_of(dataset)))
            return own->within_dataset();
    }
    return foreign_text(location);
}

std::shared_ptr<const fdb5::FieldLocation> to_fdb(const fields::Location& location,
                                                  const std::shared_ptr<fields::Dataset>& dataset)
{
    if (const auto* own = std::get_if<fields::FieldLocation>(&location))
        return std::make_shared<StepstoreFieldLocation>(dataset, *own);
    return foreign_location(std::get<std::string>(location));
}

std::uint64_t length_elsewhere(const std::string& location)
{
    return static_cast<std::uint64_t>(static_cast<long long>(foreign_location(location)->length()));
}

bool there_is(const eckit::URI& uri)
{
    return translated([&] {
        const PoolUri place = parse_uri(uri);
        const auto dataset = find_dataset(place, Access::read_only);
        if (!dataset || place.kind != PoolUri::Kind::object) return dataset != nullptr;
        return fields::StoreReader(dataset).exists({.object = place.object, .offset = 0, .length = 1});
    });
}

eckit::DataHandle* handle_on_parts(const eckit::URI& uri, const eckit::OffsetList& offsets,
                                   const eckit::LengthList& lengths)
{
    auto parts = std::make_unique<eckit::MultiHandle>();
    for (std::size_t part = 0; part < offsets.size(); ++part)
        *parts += StepstoreFieldLocation(uri, offsets[part], lengths.at(part), fdb5::Key()).dataHandle();
    return parts.release();
}

} // namespace stepstore::fdb_plugin

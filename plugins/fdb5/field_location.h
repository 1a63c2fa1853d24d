// Where a field's bytes lie, for FDB: object, offset and length; and the handle that reads them.
// Threads: a location does not change, and may be shared. Errors: FDB's (failure.h).
#pragma once

#include "fields/catalogue.h"
#include "fields/dataset.h"

#include "eckit/io/Length.h"
#include "eckit/io/Offset.h"
#include "fdb5/database/FieldLocation.h"

#include <memory>
#include <optional>

namespace stepstore::fdb_plugin {

// The name is the one by which FDB's servers and clients know the class.
class StepstoreFieldLocation final : public fdb5::FieldLocation,
                                     public std::enable_shared_from_this<StepstoreFieldLocation> {
public:
    // dataset: saves looking it up when the field is read.
    StepstoreFieldLocation(std::shared_ptr<fields::Dataset> dataset, const fields::FieldLocation& location);
    explicit StepstoreFieldLocation(const eckit::URI& uri);
    StepstoreFieldLocation(const eckit::URI& uri, const eckit::Offset& offset, const eckit::Length& length,
                           const fdb5::Key& remap);
    explicit StepstoreFieldLocation(eckit::Stream& stream);
    void encode(eckit::Stream& stream) const override;
    StepstoreFieldLocation(const StepstoreFieldLocation& other);

    eckit::DataHandle* dataHandle() const override;
    std::shared_ptr<const fdb5::FieldLocation> make_shared() const override;
    std::shared_ptr<const fdb5::FieldLocation> stableLocation() const override;
    void visit(fdb5::FieldLocationVisitor& visitor) const override { visitor(*this); }

    const fields::Dataset* dataset() const { return dataset_.get(); } // nullptr: not looked up
    fields::FieldLocation within_dataset() const;

    static const eckit::ClassSpec& classSpec() { return classSpec_; }
    const eckit::ReanimatorBase& reanimator() const override { return reanimator_; }

private:
    void print(std::ostream& out) const override;

    static eckit::ClassSpec classSpec_;
    static eckit::Reanimator<StepstoreFieldLocation> reanimator_;

    std::shared_ptr<fields::Dataset> dataset_; // may be empty
    std::uint64_t object_ = 0;                 // with a dataset_
    std::optional<std::uint64_t> checksum_;    // of the field; a URI has none
};

// What the catalogue keeps of a location: one in `dataset` as such, any other (a file, another pool) as text.
fields::Location to_fields(const fdb5::FieldLocation& location, const fields::Dataset& dataset);
std::shared_ptr<const fdb5::FieldLocation> to_fdb(const fields::Location& location,
                                                  const std::shared_ptr<fields::Dataset>& dataset);

std::uint64_t length_elsewhere(const std::string& location); // of a field in another store, in bytes

bool there_is(const eckit::URI& uri);
eckit::DataHandle* handle_on_parts(const eckit::URI& uri, const eckit::OffsetList& offsets,
                                   const eckit::LengthList& lengths);

} // namespace stepstore::fdb_plugin

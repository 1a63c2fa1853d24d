#include "statistics.h"

#include "failure.h"
#include "field_location.h"
#include "uri.h"

#include "fields/listing.h"

#include "eckit/log/JSON.h"
#include "eckit/serialisation/Stream.h"
#include "fdb5/database/Catalogue.h"

namespace stepstore::fdb_plugin {

eckit::ClassSpec IndexStatistics::classSpec_ = {&fdb5::IndexStatsContent::classSpec(),
                                                "StepstoreIndexStatistics"};
eckit::Reanimator<IndexStatistics> IndexStatistics::reanimator_;
eckit::ClassSpec DatasetStatistics::classSpec_ = {&fdb5::DbStatsContent::classSpec(),
                                                  "StepstoreDatasetStatistics"};
eckit::Reanimator<DatasetStatistics> DatasetStatistics::reanimator_;

IndexStatistics::IndexStatistics(eckit::Stream& stream)
{
    stream >> fields_ >> duplicates_ >> bytes_ >> duplicate_bytes_;
}

void IndexStatistics::encode(eckit::Stream& stream) const
{
    stream << fields_ << duplicates_ << bytes_ << duplicate_bytes_;
}

void IndexStatistics::count(std::uint64_t bytes, bool duplicate)
{
    ++fields_;
    bytes_ += bytes;
    duplicates_ += duplicate ? 1 : 0;
    duplicate_bytes_ += duplicate ? bytes : 0;
}

void IndexStatistics::add(const fdb5::IndexStatsContent& other)
{
    fields_ += other.fieldsCount();
    duplicates_ += other.duplicatesCount();
    bytes_ += other.fieldsSize();
    duplicate_bytes_ += other.duplicatesSize();
}

void IndexStatistics::report(std::ostream& out, const char* indent) const
{
    reportCount(out, "Fields", fields_, indent);
    reportBytes(out, "Size of fields", bytes_, indent);
    reportCount(out, "Duplicated fields ", duplicates_, indent);
    reportBytes(out, "Size of duplicates", duplicate_bytes_, indent);
    reportCount(out, "Reacheable fields ", fields_ - duplicates_,
                indent); // FDB's spelling: scripts look for it
    reportBytes(out, "Reachable size", bytes_ - duplicate_bytes_, indent);
}

void IndexStatistics::json(eckit::JSON& json) const
{
    json << "fields" << fields_ << "fieldsSize" << bytes_ << "duplicates" << duplicates_ << "duplicatesSize"
         << duplicate_bytes_ << "reachable" << fields_ - duplicates_ << "reachableSize"
         << bytes_ - duplicate_bytes_;
}

DatasetStatistics::DatasetStatistics(const fields::Statistics& counted)
    : datasets_(1), indexes_(counted.collocations), pages_(counted.pages), index_bytes_(counted.index_bytes),
      data_bytes_(counted.bytes + counted.masked_bytes), foreign_(counted.foreign_fields),
      foreign_bytes_(counted.foreign_bytes)
{
}

DatasetStatistics::DatasetStatistics(eckit::Stream& stream)
{
    stream >> datasets_ >> indexes_ >> pages_ >> index_bytes_ >> data_bytes_ >> foreign_ >> foreign_bytes_;
}

void DatasetStatistics::encode(eckit::Stream& stream) const
{
    stream << datasets_ << indexes_ << pages_ << index_bytes_ << data_bytes_ << foreign_ << foreign_bytes_;
}

void DatasetStatistics::add(const fdb5::DbStatsContent& other)
{
    const auto& more = dynamic_cast<const DatasetStatistics&>(other);
    datasets_ += more.datasets_;
    indexes_ += more.indexes_;
    pages_ += more.pages_;
    index_bytes_ += more.index_bytes_;
    data_bytes_ += more.data_bytes_;
    foreign_ += more.foreign_;
    foreign_bytes_ += more.foreign_bytes_;
}

void DatasetStatistics::report(std::ostream& out, const char* indent) const
{
    reportCount(out, "Databases", datasets_, indent);
    reportCount(out, "Indexes", indexes_, indent);
    reportCount(out, "Index pages", pages_, indent);
    reportBytes(out, "Size of indexes", index_bytes_, indent);
    reportBytes(out, "Size of fields in the pool", data_bytes_, indent);
    reportCount(out, "Fields elsewhere", foreign_, indent);
    reportBytes(out, "Size of fields elsewhere", foreign_bytes_, indent);
    reportBytes(out, "Total size", index_bytes_ + data_bytes_ + foreign_bytes_, indent);
}

void DatasetStatistics::json(eckit::JSON& json) const
{
    json << "databases" << datasets_ << "indexes" << indexes_ << "indexPages" << pages_ << "indexSize"
         << index_bytes_ << "ownedDataSize" << data_bytes_ << "foreignFields" << foreign_ << "foreignDataSize"
         << foreign_bytes_ << "totalSize" << index_bytes_ + data_bytes_ + foreign_bytes_;
}

bool StatisticsVisitor::visitDatabase(const fdb5::Catalogue& catalogue)
{
    currentCatalogue_ = &catalogue;
    return true;
}

// Nothing to visit: what was replaced counts too, and FDB does not show that.
fdb5::EntryVisitor::IndexScopePtr StatisticsVisitor::visitIndex(const fdb5::Index&,
                                                                fdb5::OrderedParallelFor::Order&)
{
    return nullptr;
}

void StatisticsVisitor::visitDatum(IndexScope&, const fdb5::Field&, const std::string&)
{
}

void StatisticsVisitor::visitDatum(IndexScope&, const fdb5::Field&, const fdb5::Key&)
{
}

void StatisticsVisitor::catalogueComplete(const fdb5::Catalogue&)
{
    translated([&] {
        stored_ = fields::statistics(dataset_, {}, length_elsewhere);
        fields::Listing listing(dataset_, {}, {.masked = true});
        for (fields::ListedField field; listing.next(field);) {
            const auto location = to_fdb(field.entry.location, dataset_);
            counted_.count(static_cast<std::uint64_t>(static_cast<long long>(location->length())),
                           field.masked);
            if (!field.masked && location->uri().scheme() != type_name)
                foreign_.insert(location->uri().asRawString());
        }
    });
}

fdb5::IndexStats StatisticsVisitor::indexStatistics() const
{
    auto copy = std::make_unique<IndexStatistics>();
    copy->add(counted_);
    return copy.release();
}

fdb5::DbStats StatisticsVisitor::dbStatistics() const
{
    return new DatasetStatistics(stored_);
}

} // namespace stepstore::fdb_plugin

// What fdb-stats counts, and the visitor that counts it.
// Threads: one at a time, as FDB visits datasets. Errors: FDB's (failure.h).
#pragma once

#include "fields/dataset.h"
#include "fields/maintenance.h"

#include "eckit/serialisation/Reanimator.h"
#include "fdb5/database/DbStats.h"
#include "fdb5/database/IndexStats.h"
#include "fdb5/database/StatsReportVisitor.h"

#include <memory>
#include <set>
#include <string>

namespace stepstore::fdb_plugin {

// FDB's convention: "fields" are all that are stored, "duplicates" those of them that were replaced.
class IndexStatistics final : public fdb5::IndexStatsContent {
public:
    IndexStatistics() = default;
    explicit IndexStatistics(eckit::Stream& stream);

    void count(std::uint64_t bytes, bool duplicate);

    std::size_t fieldsCount() const override { return fields_; }
    std::size_t duplicatesCount() const override { return duplicates_; }
    std::size_t fieldsSize() const override { return bytes_; }
    std::size_t duplicatesSize() const override { return duplicate_bytes_; }
    std::size_t addFieldsCount(std::size_t count) override { return fields_ += count; }
    std::size_t addDuplicatesCount(std::size_t count) override { return duplicates_ += count; }
    std::size_t addFieldsSize(std::size_t bytes) override { return bytes_ += bytes; }
    std::size_t addDuplicatesSize(std::size_t bytes) override { return duplicate_bytes_ += bytes; }
    void add(const fdb5::IndexStatsContent& other) override;
    void report(std::ostream& out, const char* indent) const override;
    void json(eckit::JSON& json) const override;
    void encode(eckit::Stream& stream) const override;

    static const eckit::ClassSpec& classSpec() { return classSpec_; }
    const eckit::ReanimatorBase& reanimator() const override { return reanimator_; }

private:
    static eckit::ClassSpec classSpec_;
    static eckit::Reanimator<IndexStatistics> reanimator_;

    std::size_t fields_ = 0;
    std::size_t duplicates_ = 0;
    std::size_t bytes_ = 0;
    std::size_t duplicate_bytes_ = 0;
};

class DatasetStatistics final : public fdb5::DbStatsContent {
public:
    DatasetStatistics() = default;
    explicit DatasetStatistics(const fields::Statistics& counted);
    explicit DatasetStatistics(eckit::Stream& stream);

    void add(const fdb5::DbStatsContent& other) override;
    void report(std::ostream& out, const char* indent) const override;
    void json(eckit::JSON& json) const override;
    void encode(eckit::Stream& stream) const override;

    static const eckit::ClassSpec& classSpec() { return classSpec_; }
    const eckit::ReanimatorBase& reanimator() const override { return reanimator_; }

private:
    static eckit::ClassSpec classSpec_;
    static eckit::Reanimator<DatasetStatistics> reanimator_;

    std::size_t datasets_ = 0;
    std::size_t indexes_ = 0;
    std::size_t pages_ = 0;
    std::size_t index_bytes_ = 0;
    std::size_t data_bytes_ = 0; // of fields in our store
    std::size_t foreign_ = 0;    // fields elsewhere: in FDB's files, or on a server
    std::size_t foreign_bytes_ = 0;
};

// Counts one dataset, when FDB is through with it. Fields elsewhere count too.
class StatisticsVisitor : public virtual fdb5::StatsReportVisitor {
public:
    explicit StatisticsVisitor(std::shared_ptr<fields::Dataset> dataset) : dataset_(std::move(dataset)) {}

    bool visitDatabase(const fdb5::Catalogue& catalogue) override;
    IndexScopePtr visitIndex(const fdb5::Index& index, fdb5::OrderedParallelFor::Order& order) override;
    void visitDatum(IndexScope& scope, const fdb5::Field& field, const std::string& fingerprint) override;
    void catalogueComplete(const fdb5::Catalogue& catalogue) override;
    fdb5::IndexStats indexStatistics() const override;
    fdb5::DbStats dbStatistics() const override;

protected:
    void visitDatum(IndexScope& scope, const fdb5::Field& field, const fdb5::Key& key) override;

    std::shared_ptr<fields::Dataset> dataset_;
    std::set<std::string> foreign_; // the URIs elsewhere that fields refer to

private:
    IndexStatistics counted_;
    fields::Statistics stored_;
};

} // namespace stepstore::fdb_plugin

// What the benchmark's own engines and their catalogues have in common: they hold nothing, and refuse what
// nobody measures.
// Threads: one. Errors: eckit::UserError from all that is refused.
#pragma once

#include "eckit/exception/Exceptions.h"
#include "fdb5/database/Catalogue.h"
#include "fdb5/database/Engine.h"
#include "fdb5/database/WipeState.h"
#include "fdb5/rules/Schema.h"

#include <ostream>

namespace stepstore::bench {

[[noreturn]] inline void refuse()
{
    throw eckit::UserError(
        "the engines 'nothing' and 'plan' only measure what FDB itself costs: they can do no more");
}

class RefusingCatalogue : public fdb5::CatalogueImpl {
public:
    RefusingCatalogue(const char* type, const fdb5::Key& key, const fdb5::Config& config)
        : CatalogueImpl(key, fdb5::ControlIdentifiers(), config), type_(type),
          rule_(config_.schema().matchingRule(key))
    {
    }

    std::string type() const override { return type_; }
    eckit::URI uri() const override { return eckit::URI(type_, "catalogue"); }
    const fdb5::Schema& schema() const override { return config_.schema(); }
    const fdb5::Rule& rule() const override { return rule_; }
    const fdb5::Key& indexKey() const override { return index_; }
    bool open() override { return true; }
    bool exists() const override { return true; }
    void checkUID() const override {}
    void clean() override {}
    void close() override {}
    bool selectIndex(const fdb5::Key& key) override
    {
        index_ = key;
        return true;
    }
    void deselectIndex() override { index_ = fdb5::Key(); }
    std::vector<fdb5::Index> indexes(bool) const override { return {}; }
    void print(std::ostream& out) const override { out << type_; }

    void dump(std::ostream&, bool, const eckit::Configuration&) const override { refuse(); }
    fdb5::StatsReportVisitor* statsReportVisitor() const override { refuse(); }
    fdb5::PurgeVisitor* purgeVisitor(const fdb5::Store&) const override { refuse(); }
    fdb5::MoveVisitor* moveVisitor(const fdb5::Store&, const metkit::mars::MarsRequest&, const eckit::URI&,
                                   eckit::Queue<fdb5::MoveElement>&) const override
    {
        refuse();
    }
    void control(const fdb5::ControlAction&, const fdb5::ControlIdentifiers&) const override { refuse(); }
    bool uriBelongs(const eckit::URI&) const override { return false; }
    void maskIndexEntries(const std::set<fdb5::Index>&) const override { refuse(); }
    void allMasked(std::set<std::pair<eckit::URI, eckit::Offset>>&, std::set<eckit::URI>&) const override
    {
        refuse();
    }
    fdb5::CatalogueWipeState wipeInit() const override { refuse(); }
    bool markIndexForWipe(const fdb5::Index&, bool, fdb5::CatalogueWipeState&) const override { refuse(); }
    void finaliseWipeState(fdb5::CatalogueWipeState&) const override { refuse(); }
    bool doWipeUnknowns(const std::set<eckit::URI>&) const override { refuse(); }
    bool doWipeURIs(const fdb5::CatalogueWipeState&) const override { refuse(); }
    void doWipeEmptyDatabase() const override { refuse(); }
    bool doUnsafeFullWipe() const override { refuse(); }

protected:
    void loadSchema() override {}

    const char* type_;
    const fdb5::Rule& rule_;
    fdb5::Key index_;
};

// An engine of the benchmark's own: its catalogues are found by their type only.
class OwnEngine : public fdb5::Engine {
public:
    explicit OwnEngine(const char* type) : type_(type) {}
    std::string name() const override { return type_; }
    std::string dbType() const override { return type_; }
    bool canHandle(const eckit::URI& uri, const fdb5::Config&) const override
    {
        return uri.scheme() == type_;
    }
    eckit::URI location(const fdb5::Key&, const fdb5::Config&) const override
    {
        return eckit::URI(type_, "catalogue");
    }
    std::vector<eckit::URI> visitableLocations(const fdb5::Key&, const fdb5::Config&) const override
    {
        return {};
    }
    std::vector<eckit::URI> visitableLocations(const metkit::mars::MarsRequest&,
                                               const fdb5::Config&) const override
    {
        return {};
    }

private:
    void print(std::ostream& out) const override { out << type_; }

    const char* type_;
};

} // namespace stepstore::bench

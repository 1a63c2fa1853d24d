// An engine that does nothing with what is archived (`engine: nothing`, `store: nothing`): what is left is
// what FDB itself costs, its keys and its schema. Fields that are archived in it are gone.
#include "refusing_catalogue.h"

#include "eckit/serialisation/Reanimator.h"
#include "fdb5/database/FieldLocation.h"
#include "fdb5/database/Store.h"
#include "fdb5/database/WipeState.h"

#include <ostream>

namespace stepstore::bench {
namespace {

constexpr const char* type_name = "nothing";

class Location final : public fdb5::FieldLocation {
public:
    explicit Location(const eckit::Length& length)
        : FieldLocation(eckit::URI(type_name, "field"), 0, length, fdb5::Key())
    {
    }
    eckit::DataHandle* dataHandle() const override { refuse(); }
    std::shared_ptr<const fdb5::FieldLocation> make_shared() const override
    {
        return std::make_shared<const Location>(length_);
    }
    void visit(fdb5::FieldLocationVisitor& visitor) const override { visitor(*this); }
    const eckit::ReanimatorBase& reanimator() const override { refuse(); }
};

class Store final : public fdb5::Store {
public:
    Store(const fdb5::Key&, const fdb5::Config&) {}
    Store(const eckit::URI&, const fdb5::Config&) {}
    static eckit::URI uri(const eckit::URI& data) { return data; }

    std::string type() const override { return type_name; }
    bool open() override { return true; }
    void close() override {}
    bool exists() const override { return true; }
    void checkUID() const override {}
    std::unique_ptr<const fdb5::FieldLocation> archive(const fdb5::Key&, const void*,
                                                       eckit::Length length) override
    {
        ++archived_;
        return std::make_unique<const Location>(length);
    }
    std::size_t flush() override { return std::exchange(archived_, 0); }

    eckit::DataHandle* retrieve(fdb5::Field&) const override { refuse(); }
    void remove(const eckit::URI&, std::ostream&, std::ostream&, bool) const override { refuse(); }
    void print(std::ostream& out) const override { out << type_name; }
    eckit::URI uri() const override { return eckit::URI(type_name, "store"); }
    bool uriBelongs(const eckit::URI&) const override { return false; }
    bool uriExists(const eckit::URI&) const override { return false; }
    std::set<eckit::URI> collocatedDataURIs() const override { return {}; }
    std::set<eckit::URI> asCollocatedDataURIs(const std::set<eckit::URI>&) const override { return {}; }
    std::vector<eckit::URI> getAuxiliaryURIs(const eckit::URI&, bool) const override { return {}; }
    void finaliseWipeState(fdb5::StoreWipeState&, bool, bool) override { refuse(); }
    bool doWipeUnknowns(const std::set<eckit::URI>&) const override { refuse(); }
    bool doWipeURIs(const fdb5::StoreWipeState&) const override { refuse(); }
    void doWipeEmptyDatabase() const override { refuse(); }
    bool doUnsafeFullWipe() const override { refuse(); }

private:
    std::size_t archived_ = 0;
};

class CatalogueWriter final : public RefusingCatalogue, public fdb5::CatalogueWriter {
public:
    CatalogueWriter(const fdb5::Key& key, const fdb5::Config& config)
        : RefusingCatalogue(type_name, key, config)
    {
    }
    CatalogueWriter(const eckit::URI&, const fdb5::Config& config)
        : CatalogueWriter(fdb5::Key(), config) // FDB makes none from a URI to archive
    {
    }

    const fdb5::Key currentIndexKey() override { return index_; }
    bool createIndex(const fdb5::Key& key, std::size_t) override { return selectIndex(key); }
    void archive(const fdb5::Key&, const fdb5::Key&, std::shared_ptr<const fdb5::FieldLocation>) override
    {
        ++archived_;
    }
    std::size_t archivedLocations() const override { return archived_; }
    void flush(std::size_t) override {}

    const fdb5::Index& currentIndex() override { refuse(); }
    void overlayDB(const fdb5::Catalogue&, const std::set<std::string>&, bool) override { refuse(); }
    void index(const fdb5::Key&, const eckit::URI&, eckit::Offset, eckit::Length) override { refuse(); }
    void reconsolidate() override { refuse(); }

private:
    std::size_t archived_ = 0;
};

struct Engine final : OwnEngine {
    Engine() : OwnEngine(type_name) {}
};

const fdb5::StoreBuilder<Store> store(type_name);
const fdb5::CatalogueWriterBuilder<CatalogueWriter> writer(type_name);
const fdb5::EngineBuilder<Engine> engine;

} // namespace
} // namespace stepstore::bench

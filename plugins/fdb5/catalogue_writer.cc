// The catalogue to write to.
#include "catalogue.h"
#include "failure.h"
#include "field_location.h"
#include "index.h"
#include "keys.h"
#include "schema.h"

namespace stepstore::fdb_plugin {
namespace {

class CatalogueWriter final : public Catalogue, public fdb5::CatalogueWriter {
public:
    CatalogueWriter(const fdb5::Key& key, const fdb5::Config& config) : Catalogue(key, config)
    {
        translated(
            [&] { dataset_ = find_or_make_dataset(settings_, to_fields(key), configured_schema(config_)); });
        prepare();
    }
    CatalogueWriter(const eckit::URI& uri, const fdb5::Config& config)
        : Catalogue(uri, config, Access::read_write)
    {
        prepare();
    }

    bool open() override { return true; } // the constructor did

    bool createIndex(const fdb5::Key& key, std::size_t) override { return selectIndex(key); }
    bool selectIndex(const fdb5::Key& key) override // an index comes into being with its first field
    {
        if (index_key_ != key || collocation_.empty()) {
            index_key_ = key;
            collocation_ = to_fields(key);
            index_ = fdb5::Index();
        }
        return true;
    }
    void deselectIndex() override
    {
        index_key_ = fdb5::Key();
        collocation_ = fields::Key();
        index_ = fdb5::Index();
    }
    const fdb5::Key currentIndexKey() override { return index_key_; }
    const fdb5::Index& currentIndex() override
    {
        if (index_.null()) index_ = fdb5::Index(new Index(dataset_, index_key_, {}, 0));
        return index_;
    }

    void archive(const fdb5::Key& index_key, const fdb5::Key& key,
                 std::shared_ptr<const fdb5::FieldLocation> location) override
    {
        const bool selected = index_key == index_key_;
        translated([&] {
            writer_->archive(selected ? collocation_ : to_fields(index_key), to_fields(key),
                             to_fields(*location, *dataset_));
        });
        ++archived_;
    }
    void index(const fdb5::Key& key, const eckit::URI& uri, eckit::Offset offset,
               eckit::Length length) override
    {
        const std::shared_ptr<const fdb5::FieldLocation> location(
            fdb5::FieldLocationFactory::instance().build(uri.scheme(), uri, offset, length, fdb5::Key()));
        archive(index_key_, key, location);
    }
    void flush(std::size_t) override
    {
        translated([&] { writer_->flush(); });
    }
    std::size_t archivedLocations() const override { return archived_; }
    // FDB drops a writer that it has flushed; what an error kept from being flushed stays unseen, and purge
    // reclaims it.
    void clean() override {}
    void close() override {}

    void overlayDB(const fdb5::Catalogue&, const std::set<std::string>&, bool) override
    {
        refuse("a dataset in a pool cannot be an overlay of another one: copy it (fdb-copy), or keep it in "
               "files");
    }
    void reconsolidate() override
    {
        refuse("a pool has no sub-catalogues to reconsolidate: use fdb-purge, which merges index pages");
    }

private:
    void prepare()
    {
        translated([&] {
            require_same_rule(*dataset_, config_);
            writer_ = std::make_unique<fields::CatalogueWriter>(dataset_);
        });
        loadSchema();
    }

    std::unique_ptr<fields::CatalogueWriter> writer_;
    fields::Key collocation_;
    fdb5::Index index_;
    std::size_t archived_ = 0;
};

const fdb5::CatalogueWriterBuilder<CatalogueWriter> writer_builder(type_name);

} // namespace
} // namespace stepstore::fdb_plugin

// The index of one collocation key, as FDB visits it.
// Threads: an index does not change, and may be shared. Errors: FDB's (failure.h).
#pragma once

#include "fields/catalogue.h"
#include "fields/dataset.h"
#include "fields/listing.h"

#include "fdb5/database/Index.h"
#include "fdb5/database/IndexLocation.h"

#include <functional>
#include <memory>

namespace stepstore::fdb_plugin {

class IndexLocation final : public fdb5::IndexLocation {
public:
    explicit IndexLocation(const eckit::URI& uri) : uri_(uri) {}
    eckit::URI uri() const override { return uri_; }
    fdb5::IndexLocation* clone() const override { return new IndexLocation(uri_); }

private:
    void print(std::ostream& out) const override;
    void encode(eckit::Stream& stream) const override;

    eckit::URI uri_;
};

// A view of what is stored: it holds the axes that it was made with, and reads the rest when asked.
class Index final : public fdb5::IndexBase {
public:
    Index(std::shared_ptr<fields::Dataset> dataset, const fdb5::Key& key, const fields::Axes& axes,
          std::uint64_t newest);

    const fields::Key& collocation() const { return collocation_; }
    // What a request, in the spelling of the element's rule, asks of this index.
    static fields::Request wanted(const metkit::mars::MarsRequest& request, const fields::Key& collocation);
    // Those that the request, in the spelling of the element's rule, asks for; nullptr: all. Pages without
    // any of them are not fetched.
    // masked: also those that were replaced, after what replaced them.
    fields::Listing fields(const metkit::mars::MarsRequest* request, bool masked) const;

private:
    const fdb5::IndexLocation& location() const override { return location_; }
    // What the index refers to: one URI for all fields in its dataset, and one for each file or object
    // elsewhere.
    std::vector<eckit::URI> dataURIs() const override;
    bool dirty() const override { return false; }
    // Nothing is kept open, and every change of the store is whole by itself: there is nothing to open,
    // close, flush or lock.
    void open() override {}
    void reopen() override {}
    void close() override {}
    void flush() override {}
    void flock() const override {}
    void funlock() const override {}
    void visit(fdb5::IndexLocationVisitor& visitor) const override { visitor(location_); }
    bool get(const fdb5::Key& key, const fdb5::Key& remap, fdb5::Field& field) const override;
    void add(const fdb5::Key& key, const fdb5::Field& field) override;
    void entries(fdb5::EntryVisitor& visitor, fdb5::EntryVisitor::IndexScope& scope) const override;
    void dump(std::ostream& out, const char* indent, bool simple, bool dump_fields) const override;
    fdb5::IndexStats statistics() const override;
    void print(std::ostream& out) const override;

    std::shared_ptr<fields::Dataset> dataset_;
    fields::Key collocation_;
    IndexLocation location_;
};

// A visitor keeps canonicalise() for itself; this makes it public.
template <typename Visitor>
struct Asking : Visitor {
    using Visitor::canonicalise;
};

template <typename Visitor>
std::function<const metkit::mars::MarsRequest&(const fdb5::Rule&)> asked_by(Visitor& visitor)
{
    return [&visitor](const fdb5::Rule& rule) -> const metkit::mars::MarsRequest& {
        return (visitor.*(&Asking<Visitor>::canonicalise))(rule);
    };
}

fdb5::Field to_field(const fields::Entry& entry, const std::shared_ptr<fields::Dataset>& dataset);

} // namespace stepstore::fdb_plugin

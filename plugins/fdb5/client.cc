#include "client.h"

#include "failure.h"
#include "lister.h"
#include "uri.h"

#include "fdb5/api/FDBFactory.h"

#include <utility>
#include <vector>

namespace stepstore::fdb_plugin {
namespace {

// The engine is not taken for granted: some of FDB's tools look into the configuration themselves.
const fdb5::Config& with_our_engine(const fdb5::Config& config)
{
    const std::string engine = config.getString("engine", "toc");
    if (engine != type_name) {
        refuse("configuration: 'type: stepstore' needs 'engine: stepstore', but the engine is " + engine +
               ": write 'engine: stepstore', or 'type: local'");
    }
    return config; // NOLINT(bugprone-return-const-ref-from-parameter): what was given, checked
}

class Found final : public fdb5::APIIteratorBase<fdb5::ListElement> {
public:
    explicit Found(std::vector<fdb5::ListElement> elements) : elements_(std::move(elements)) {}
    bool next(fdb5::ListElement& element) override
    {
        if (next_ == elements_.size()) return false;
        element = std::move(elements_[next_++]);
        return true;
    }

private:
    std::vector<fdb5::ListElement> elements_;
    std::size_t next_ = 0;
};

fdb5::ListIterator iterator(fdb5::APIIteratorBase<fdb5::ListElement>* elements)
{
    return {fdb5::APIIterator<fdb5::ListElement>(elements)};
}

const fdb5::FDBBuilder<Client> builder(type_name);

} // namespace

Client::Client(const fdb5::Config& config, const std::string& name) : LocalFDB(with_our_engine(config), name)
{
}

fdb5::ListIterator Client::inspect(const metkit::mars::MarsRequest& request)
{
    Own& own = *own_;
    {
        const std::lock_guard lock(own.making);
        if (!own.inspection) own.inspection = std::make_unique<Inspection>(config_);
    }
    return iterator(new Found(own.inspection->fields_of(request)));
}

fdb5::ListIterator Client::list(const fdb5::FDBToolRequest& request, int level)
{
    return iterator(new Lister(config_, request, level));
}

} // namespace stepstore::fdb_plugin

// The engine: which datasets there are in the configured pools, by URI.
#include "failure.h"
#include "keys.h"
#include "move.h"
#include "settings.h"
#include "uri.h"

#include "fdb5/database/Engine.h"
#include "fdb5/rules/Rule.h"
#include "fdb5/rules/Schema.h"
#include "fdb5/types/TypesRegistry.h"
#include "metkit/mars/MarsRequest.h"

#include <algorithm>
#include <functional>
#include <map>
#include <ostream>
#include <vector>

namespace stepstore::fdb_plugin {
namespace {

using Wanted = std::function<bool(const fdb5::Key&)>;

std::vector<eckit::URI> datasets(const fdb5::Config& config, const Wanted& wanted)
{
    return translated([&] {
        // By the key's text, then by the pool: tools show datasets in this order.
        std::map<std::string, std::vector<ShownDataset>> found;
        const Settings settings = settings_of(config);
        for (const auto& pool : settings.pools.all()) {
            const auto session = pool.allows(fdb5::ControlIdentifier::List)
                                     ? session_if_there(pool.location, Access::read_only)
                                     : nullptr;
            if (!session) continue;
            session->datasets({}, [&](const fields::DatasetEntry& entry) {
                if (wanted(to_fdb(entry.key))) found[entry.key.text()].push_back({session, entry});
                return true;
            });
        }
        std::vector<eckit::URI> uris;
        for (auto& [text, datasets] : found) {
            if (datasets.size() > 1) drop_moved(datasets);
            for (const auto& [session, entry] : datasets)
                uris.push_back(to_uri({.pool = session->location(), .container = entry.container}));
        }
        return uris;
    });
}

class StepstoreEngine final : public fdb5::Engine {
public:
    std::string name() const override { return type_name; }
    std::string dbType() const override { return type_name; }
    bool canHandle(const eckit::URI& uri, const fdb5::Config&) const override
    {
        return uri.scheme() == type_name;
    }

    // Where the dataset is, or the pool that would get it.
    eckit::URI location(const fdb5::Key& key, const fdb5::Config& config) const override
    {
        return translated([&] {
            const Settings settings = settings_of(config);
            if (const auto dataset = find_dataset(settings, to_fields(key), Access::read_only))
                return to_uri(pool_uri_of(*dataset));
            return to_uri({.pool = settings.pools.choose(to_fields(key)), .container = ""});
        });
    }

    std::vector<eckit::URI> visitableLocations(const fdb5::Key& key,
                                               const fdb5::Config& config) const override
    {
        return datasets(config, [&](const fdb5::Key& dataset) { return dataset.match(key); });
    }

    // A dataset is wanted when the request, in the spelling of values of the rule that makes such datasets,
    // asks for its values.
    std::vector<eckit::URI> visitableLocations(const metkit::mars::MarsRequest& request,
                                               const fdb5::Config& config) const override
    {
        std::map<const fdb5::Rule*, metkit::mars::MarsRequest> canonical;
        return datasets(config, [&](const fdb5::Key& dataset) {
            std::map<fdb5::Key, const fdb5::Rule*> rules;
            config.schema().matchDatabase(dataset, rules, "");
            return std::any_of(rules.begin(), rules.end(), [&](const auto& made) {
                const fdb5::Rule* rule = made.second;
                if (!canonical.contains(rule))
                    canonical.emplace(rule, rule->registry().canonicalise(request));
                return dataset.partialMatch(canonical.at(rule));
            });
        });
    }

private:
    void print(std::ostream& out) const override { out << "StepstoreEngine()"; }
};

const fdb5::EngineBuilder<StepstoreEngine> engine_builder;

} // namespace
} // namespace stepstore::fdb_plugin

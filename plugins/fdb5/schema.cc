#include "schema.h"

#include "failure.h"
#include "keys.h"

#include "base/own_state.h"

#include "eckit/filesystem/PathName.h"
#include "fdb5/rules/Rule.h"
#include "fdb5/rules/SchemaParser.h"

#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

namespace stepstore::fdb_plugin {
namespace {

// parse(stream), once for each text.
template <typename Parsed, typename Parse>
std::shared_ptr<const Parsed> parsed(const std::string& text, Parse parse)
{
    struct Known {
        std::mutex mutex; // of OwnState::fdb_client: guards texts
        std::map<std::string, std::shared_ptr<const Parsed>> texts;
    };
    static const PerProcess<OwnState::fdb_client, Known> all([] { return std::make_unique<Known>(); });
    Known& known = *all;
    const std::lock_guard lock(known.mutex);
    auto& one = known.texts[text];
    if (!one) {
        std::istringstream stream(text);
        one = parse(stream);
    }
    return one;
}

// A rule of a schema learns the schema's types from it.
struct Registry : fdb5::Rule {
    using fdb5::Rule::registry_;
};

std::string rule_text(const fdb5::Schema& schema, const fdb5::Key& key)
{
    std::ostringstream text;
    schema.matchingRule(key).dump(text);
    return text.str();
}

} // namespace

std::string configured_schema(const fdb5::Config& config)
{
    const std::string path = config.schemaPath().asString();
    std::ifstream file(path);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) refuse("cannot read the schema " + path);
    return text.str();
}

std::string schema_text(const fields::Dataset& dataset, const fdb5::Config& config)
{
    return dataset.schema().empty() ? configured_schema(config) : dataset.schema();
}

std::shared_ptr<const fdb5::Schema> schema_of(const fields::Dataset& dataset, const fdb5::Config& config)
{
    return parsed<fdb5::Schema>(schema_text(dataset, config), [](std::istream& stream) {
        return std::make_shared<const fdb5::Schema>(stream);
    });
}

std::shared_ptr<const Rules> rules_of(const std::string& schema_text)
{
    return parsed<Rules>(schema_text, [](std::istream& stream) {
        auto rules = std::make_shared<Rules>();
        fdb5::SchemaParser(stream).parse(rules->list, rules->registry);
        for (auto& rule : rules->list) {
            ((*rule).*(&Registry::registry_)).updateParent(rules->registry);
            rule->updateParent(nullptr);
        }
        return rules;
    });
}

const fdb5::RuleDatabase& Rules::matching(const fdb5::Key& dataset) const
{
    for (const auto& rule : list)
        if (rule->match(dataset)) return *rule;
    refuse("the schema has no rule for the dataset " + to_fields(dataset).text());
}

void require_same_rule(const fields::Dataset& dataset, const fdb5::Config& config)
{
    if (dataset.schema().empty() || dataset.schema() == configured_schema(config)) return;
    const fdb5::Key key = to_fdb(dataset.key());
    const std::string stored = rule_text(*schema_of(dataset, config), key);
    const std::string configured = rule_text(config.schema(), key);
    if (stored != configured) {
        refuse("the schema " + config.schemaPath().asString() + " does not fit " + dataset.name() +
               ", which was made with another one.\nIts rule: " + stored + "\nconfigured: " + configured +
               "\nArchive with the schema that it was made with (fdb-schema prints it), or wipe it first.");
    }
}

} // namespace stepstore::fdb_plugin

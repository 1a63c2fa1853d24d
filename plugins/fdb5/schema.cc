#include "schema.h"

#include "failure.h"
#include "keys.h"

#include "eckit/filesystem/PathName.h"
#include "fdb5/rules/Rule.h"

#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

namespace stepstore::fdb_plugin {
namespace {

std::shared_ptr<const fdb5::Schema> parsed(const std::string& text)
{
    static std::mutex mutex;
    static std::map<std::string, std::shared_ptr<const fdb5::Schema>> all;
    const std::lock_guard lock(mutex);
    auto& schema = all[text];
    if (!schema) {
        std::istringstream stream(text);
        schema = std::make_shared<const fdb5::Schema>(stream);
    }
    return schema;
}

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
    if (!file || !(text << file.rdbuf())) {
        refuse("cannot read the schema " + path);
    }
    return text.str();
}

std::shared_ptr<const fdb5::Schema> schema_of(const fields::Dataset& dataset, const fdb5::Config& config)
{
    return parsed(dataset.schema().empty() ? configured_schema(config) : dataset.schema());
}

void require_same_rule(const fields::Dataset& dataset, const fdb5::Config& config)
{
    if (dataset.schema().empty() || dataset.schema() == configured_schema(config)) {
        return;
    }
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

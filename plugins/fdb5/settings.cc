#include "settings.h"

#include "failure.h"
#include "uri.h"

#include "base/own_state.h"

#include "daos_errno.h"

#include "eckit/log/Log.h"

#include <charconv>
#include <map>
#include <mutex>
#include <set>

namespace stepstore::fdb_plugin {
namespace {

constexpr const char* own_keys = "pool or pools, handler, durability, targets";

[[noreturn]] void refuse_value(const std::string& key, const std::string& value, const std::string& expected)
{
    refuse("configuration: stepstore." + key + " is '" + value + "', expected " + expected);
}

unsigned targets_of(const std::string& value)
{
    unsigned targets = 0;
    const char* end = value.data() + value.size();
    if (std::from_chars(value.data(), end, targets).ptr != end || targets == 0 || targets > 256)
        refuse_value("targets", value, "a number from 1 to 256");
    return targets;
}

Durability durability_of(const std::string& value)
{
    if (value != "process" && value != "power") refuse_value("durability", value, "process or power");
    return value == "power" ? Durability::power : Durability::process;
}

fields::Options options_of(const std::map<std::string, std::string>& values)
{
    try {
        return fields::parse_options(values);
    } catch (const Error& error) {
        refuse(std::string("configuration, section 'stepstore': ") + error.what() +
               "; the section also takes " + own_keys);
    }
}

} // namespace

Settings settings_of(const fdb5::Config& config)
{
    if (!config.has("stepstore")) {
        refuse(
            std::string("the FDB configuration has no section 'stepstore': write at least 'stepstore: {pool: "
                        "/path/of/the/pool}'. Its keys: ") +
            own_keys + ", and the fields' options (docs/fdb.md)");
    }
    const eckit::LocalConfiguration section = config.getSubConfiguration("stepstore");
    Settings settings{.pools = Pools(config, section), .pool = {}, .dataset = {}, .writer = {}};
    std::map<std::string, std::string> options;
    for (const auto& key : section.keys()) {
        if (key == "pools" || key == "pool" || key == "handler") continue; // they are read
        if (key == "targets")
            settings.pool.targets = targets_of(section.getString(key));
        else if (key == "durability")
            settings.pool.durability = durability_of(section.getString(key));
        else
            options[key] = section.getString(key);
    }
    const fields::Options parsed = options_of(options);
    settings.dataset = parsed.dataset;
    settings.writer = parsed.writer;
    const bool our_catalogue = config.getString("engine", "") == type_name;
    settings.whole = our_catalogue && config.getString("store", "file") == type_name;
    settings.writer.indexed_elsewhere = !our_catalogue;
    return settings;
}

namespace {

// As FDB says it of a root that is not there; once, since readers ask again and again.
void warn_of_missing(const std::string& pool)
{
    struct Warned {
        std::mutex mutex; // of OwnState::fdb_client: guards pools
        std::set<std::string> pools;
    };
    static const PerProcess<OwnState::fdb_client, Warned> all([] { return std::make_unique<Warned>(); });
    Warned& warned = *all;
    const std::lock_guard lock(warned.mutex);
    if (warned.pools.insert(pool).second) {
        eckit::Log::warning() << "Stepstore: there is no pool " << pool
                              << ": no field is found in it until it is made" << std::endl;
    }
}

} // namespace

std::shared_ptr<fields::Session> session_if_there(const std::string& pool, Access access)
{
    try {
        return fields::Session::open(pool, access);
    } catch (const Error& error) {
        if (error.code() != -DER_NONEXIST) throw;
    }
    if (access == Access::read_only) warn_of_missing(pool);
    return nullptr;
}

std::shared_ptr<fields::Session> session_to_write(const std::string& pool, const PoolOptions& options)
{
    if (auto session = session_if_there(pool, Access::read_write)) return session;
    try {
        Pool::create(pool, options);
    } catch (const Error& error) {
        if (error.code() != -DER_EXIST) // somebody else was first
            throw;
    }
    return fields::Session::open(pool, Access::read_write);
}

std::shared_ptr<fields::Dataset> find_dataset(const Settings& settings, const fields::Key& key, Access access)
{
    for (const auto& pool : settings.pools.all()) {
        if (!pool.allows(fdb5::ControlIdentifier::List)) continue; // as FDB passes over such a root
        const auto session = session_if_there(pool.location, access);
        if (auto dataset = session ? session->find(key) : nullptr) return dataset;
    }
    return nullptr;
}

std::shared_ptr<fields::Dataset> find_or_make_dataset(const Settings& settings, const fields::Key& key,
                                                      const std::string& schema)
{
    if (auto dataset = find_dataset(settings, key, Access::read_write)) return dataset;
    const Pools::FolderLock lock = settings.pools.lock_folder();
    if (auto dataset = lock ? find_dataset(settings, key, Access::read_write) : nullptr) return dataset;
    return session_to_write(settings.pools.choose(key), settings.pool)->create(key, settings.dataset, schema);
}

PoolUri pool_uri_of(const fields::Dataset& dataset, PoolUri::Kind kind)
{
    return {.pool = dataset.session().location(), .container = dataset.container_label(), .kind = kind};
}

std::string why_not_there(const PoolUri& place)
{
    const auto session = session_if_there(place.pool, Access::read_only);
    if (session && session->lists(place.container)) {
        return "the pool lists it, but a part of it is missing: its writer has not finished making it, or it "
               "is damaged ('stepstore pool check " +
               place.pool + "' says which)";
    }
    return "it was wiped";
}

std::shared_ptr<fields::Dataset> find_dataset(const PoolUri& place, Access access)
{
    const auto session = session_if_there(place.pool, access);
    return session ? session->find_container(place.container) : nullptr;
}

} // namespace stepstore::fdb_plugin

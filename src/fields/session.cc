// Making a dataset. The root key-value names it, so two processes that make it at once agree there:
//
// 1. Its root entry is put on the condition that there is none. The entry holds a container label that no
//    other dataset of the pool ever had or will have. The loser of the race takes the winner's label.
// 2. The container of that label is opened, or made. The dataset's record is put into it on the condition
//    that there is none: the first one's options count.
// 3. The process reads whether the root still names that container. If not, the dataset was wiped in between,
//    and step 2 may have made the container again after it was destroyed. Then the process destroys it and
//    begins again with 1.
//
// A process that dies after 1 leaves an entry that readers take for an empty place. The next writer completes
// it. A process that dies between 2 and 3 leaves at worst a container that no entry names. purge_pool()
// removes it.
#include "fields/session.h"

#include "fields/index_row.h"
#include "fields/record.h"
#include "fields/writer.h"
#include "stepstore/libdaos.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <unistd.h>
#include <unordered_map>

namespace stepstore::fields {

namespace {

std::string root_key(const std::string& dataset)
{
    return root_prefix + dataset;
}

// What a person may recognise, in the characters that a label may have.
std::string new_label(std::uint64_t number, const Key& key)
{
    constexpr std::size_t longest = 120;
    std::string label = dataset_container_prefix + std::to_string(number);
    for (const Key::Pair& pair : key.pairs()) {
        label += '.';
        for (const char c : pair.second) {
            const bool good =
                (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
            label += good ? c : '-';
        }
    }
    return label.substr(0, longest);
}

bool is_missing(const Error& error)
{
    return error.code() == -DER_NONEXIST || error.code() == -DER_CONT_NONEXIST;
}

void require_same_schema(const Dataset& dataset, const std::string& schema)
{
    if (schema.empty() || schema == dataset.schema()) return;
    const auto [mine, stored] = std::ranges::mismatch(schema, dataset.schema());
    const auto line = 1 + std::count(schema.begin(), mine, '\n');
    throw Error(-DER_MISMATCH, dataset.name() +
                                   " was made with another schema: the given one differs from it in line " +
                                   std::to_string(line) + "; use the stored schema, or another dataset");
}

// Before anything is made with it.
void require_class(const Pool& pool, const std::string& name)
{
    if (pool.library().oclass_name2id(name.c_str()) == 0)
        throw Error(-DER_INVAL,
                    "there is no object class '" + name + "': use S1, S2, S4, ... SX or RP_2G1 ... RP_2GX");
}

} // namespace

void destroy_container(const Pool& pool, const std::string& label)
{
    try {
        pool.destroy_container(label, true);
    } catch (const Error& error) {
        if (!is_missing(error)) throw;
    }
}

struct Session::Cache {
    std::atomic<bool> met_others{true}; // a child needs what its parent may not have synced
    std::mutex mutex;                   // of OwnState::field_session: guards all below
    std::unordered_map<std::string, std::shared_ptr<Dataset>> datasets;
    std::optional<Container> root_container;
    std::optional<KeyValue> root;
};

namespace {

struct Registry {
    std::mutex mutex; // of OwnState::field_sessions: guards all below
    std::map<std::pair<std::string, Access>, std::shared_ptr<Session>> sessions;
};

// Never destroyed: the libraries below may be gone before the last static object.
Registry& registry()
{
    static auto* const all =
        new PerProcess<OwnState::field_sessions, Registry>([] { return std::make_unique<Registry>(); });
    return **all;
}

} // namespace

std::shared_ptr<Session> Session::open(const std::string& location, Access access)
{
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    auto& session = all.sessions[{location, access}];
    if (!session) session = open_own(location, access);
    return session;
}

std::shared_ptr<Session> Session::open_own(const std::string& location, Access access)
{
    return std::shared_ptr<Session>(new Session(Pool::connect(location, access), access));
}

void Session::release()
{
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    for (auto& one : all.sessions)
        if (one.second) one.second->forget_all();
    all.sessions.clear();
}

Session::Session(Pool pool, Access access)
    : pool_(std::move(pool)), access_(access), cache_([] { return std::make_unique<Cache>(); })
{
}

Session::~Session() = default;

// nullptr: there is no root container, so no dataset either.
KeyValue* Session::root(bool make) const
{
    if (cache_->root) return &*cache_->root;
    try {
        cache_->root_container.emplace(make ? pool_.open_or_create_container(root_container)
                                            : pool_.open_container(root_container, access_));
    } catch (const Error& error) {
        if (!make && is_missing(error)) return nullptr;
        throw;
    }
    cache_->root.emplace(cache_->root_container->key_value(main_id(*cache_->root_container), access_));
    return &*cache_->root;
}

std::string Session::root_entry_name(const std::string& key) const
{
    return "the root entry of dataset " + key + " in pool " + location();
}

std::optional<std::string> Session::root_entry(const std::string& key) const
{
    KeyValue* const entries = locked_root(false);
    if (entries == nullptr) return std::nullopt;
    const auto value = entries->get_nonempty(root_key(key));
    if (!value) return std::nullopt;
    return decode_root(*value, root_entry_name(key));
}

KeyValue* Session::locked_root(bool make) const
{
    const std::lock_guard lock(cache_->mutex);
    return root(make);
}

bool Session::is_claimed(const std::string& label) const
{
    if (locked_root(false) == nullptr) return false;
    const auto found = claim(label).look();
    return found && found->state != LeaseState::free;
}

Lease Session::claim(const std::string& label) const
{
    const std::lock_guard lock(cache_->mutex);
    root(true);
    const Container& container = *cache_->root_container;
    return {container.key_value(main_id(container), access_), claim_prefix + label, Lease::never,
            Lease::AtEnd::remove_record};
}

std::string Session::make_label(const Key& key)
{
    locked_root(true);
    return new_label(cache_->root_container->allocate_oids(1), key);
}

bool Session::put_root_entry(const std::string& key, const std::string& container)
{
    try {
        locked_root(true)->put(root_key(key), encode_root(container), Condition::must_not_exist);
        return true;
    } catch (const Error& error) {
        if (error.code() != -DER_EXIST) throw;
        return false;
    }
}

bool Session::remove_root_entry(const std::string& key, const std::string& container)
{
    KeyValue* const entries = locked_root(true);
    const auto value = entries->get_nonempty(root_key(key));
    if (!value || decode_root(*value, root_entry_name(key)) != container) return false;
    return entries->remove_if(root_key(key), *value);
}

void Session::forget(const std::string& key)
{
    const std::lock_guard lock(cache_->mutex);
    cache_->datasets.erase(key);
}

void Session::forget_all()
{
    const std::lock_guard lock(cache_->mutex);
    cache_->datasets.clear();
}

// Of a container that is there, which is taken over; nullptr, and it is not, when there is no record in it
// yet.
std::shared_ptr<Dataset> Session::dataset_in(Container& container, const std::string& text)
{
    const std::string what = "the record of dataset " + text + " in pool " + location();
    const KeyValue entries = container.key_value(main_id(container), Access::read_only);
    const auto bytes = entries.get_nonempty(record_key);
    if (!bytes) return nullptr;
    DatasetRecord record = decode_dataset(*bytes, what);
    std::string key = record.key.text();
    return std::make_shared<Dataset>(shared_from_this(), std::move(key), std::move(container),
                                     std::move(record));
}

std::shared_ptr<Dataset> Session::make_dataset(const std::string& label, const Key& key,
                                               const DatasetOptions& options, const std::string& schema)
{
    Container container = pool_.open_or_create_container(label);
    DatasetRecord record;
    record.key = key;
    record.options = options;
    record.schema = schema;
    record.created = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
            .count());
    const ProcessIdentity maker = this_process();
    record.host = maker.host;
    record.process = maker.process;
    record.user = ::geteuid();
    if (auto there = dataset_in(container, key.text())) return there;
    KeyValue entries = container.key_value(main_id(container), Access::read_write);
    try {
        entries.put(record_key, encode_dataset(record), Condition::must_not_exist);
    } catch (const Error& error) {
        if (error.code() != -DER_EXIST) throw;
    }
    return dataset_in(container, key.text());
}

void Session::met_others_work()
{
    cache_->met_others = true;
}

void Session::sync_flushed()
{
    if (!cache_->met_others.exchange(false)) {
        pool_.sync_own();
        return;
    }
    try {
        pool_.sync();
    } catch (...) {
        cache_->met_others = true;
        throw;
    }
}

std::shared_ptr<Dataset> Session::cached(const std::string& text, const std::string& label) const
{
    const std::lock_guard lock(cache_->mutex);
    const auto found = cache_->datasets.find(text);
    if (found == cache_->datasets.end() || found->second->container_label() != label) return nullptr;
    return found->second;
}

std::shared_ptr<Dataset> Session::cache(std::shared_ptr<Dataset> dataset)
{
    const std::lock_guard lock(cache_->mutex);
    auto& place = cache_->datasets[dataset->key_text()];
    if (place && place->container_label() == dataset->container_label()) return place; // another thread's
    place = std::move(dataset);
    met_others_work();
    return place;
}

std::shared_ptr<Dataset> Session::create(const Key& key, const DatasetOptions& options,
                                         const std::string& schema)
{
    if (access_ != Access::read_write)
        throw Error(-DER_NO_PERM, "create a dataset in pool " + location() + ": it is open for reading only");
    const std::string text = key.text();
    constexpr int most_rounds = 64;
    for (int round = 0; round < most_rounds; ++round) {
        auto label = root_entry(text);
        if (!label) {
            require_class(pool_, options.data_class);
            require_class(pool_, options.index_class);
            label = make_label(key);
            if (!put_root_entry(text, *label)) continue;
        }
        auto dataset = cached(text, *label);
        if (!dataset) {
            try {
                dataset = make_dataset(*label, key, options, schema);
            } catch (const Error&) {
                if (root_entry(text) == label) throw; // else it was wiped meanwhile
                continue;
            }
            if (dataset && root_entry(text) != label) {
                dataset.reset();
                destroy_container(pool_, *label);
            }
            if (!dataset) continue;
            dataset = cache(std::move(dataset));
        }
        require_same_schema(*dataset, schema);
        return dataset;
    }
    throw Error(-DER_BUSY, "create dataset " + text + " in pool " + location() +
                               ": other processes wipe it again and again: try again later");
}

std::shared_ptr<Dataset> Session::find(const Key& key)
{
    const std::string text = key.text();
    const auto label = root_entry(text);
    if (!label) {
        forget(text);
        return nullptr;
    }
    if (auto dataset = cached(text, *label)) return dataset;
    auto dataset = open_labelled(*label, text);
    return dataset ? cache(std::move(dataset)) : nullptr;
}

// nullptr: there is no such container, or it is not complete yet.
std::shared_ptr<Dataset> Session::open_labelled(const std::string& label, const std::string& text)
{
    try {
        Container container = pool_.open_container(label, access_);
        return dataset_in(container, text);
    } catch (const Error& error) {
        if (is_missing(error)) return nullptr;
        throw;
    }
}

std::shared_ptr<Dataset> Session::find_container(const std::string& label)
{
    {
        const std::lock_guard lock(cache_->mutex);
        for (const auto& one : cache_->datasets)
            if (one.second->container_label() == label) return one.second;
    }
    auto dataset = open_labelled(label, "in container " + label);
    if (!dataset || !dataset->is_there()) return nullptr;
    return cache(std::move(dataset));
}

bool Session::lists(const std::string& label) const
{
    bool listed = false;
    datasets({}, [&](const DatasetEntry& entry) {
        listed = entry.container == label;
        return !listed;
    });
    return listed;
}

void Session::datasets(const Request& request, const std::function<bool(const DatasetEntry&)>& each) const
{
    KeyValue* const entries = locked_root(false);
    if (entries == nullptr) return;
    entries->list([&](std::string_view key) {
        if (!key.starts_with(root_prefix)) return true;
        const std::string text(key.substr(sizeof root_prefix - 1));
        DatasetEntry entry{Key::parse(text), {}};
        if (!request.matches(entry.key)) return true;
        const auto container = root_entry(text);
        if (!container) return true; // wiped meanwhile
        entry.container = *container;
        return each(entry);
    });
}

} // namespace stepstore::fields

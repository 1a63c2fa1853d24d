// Key-value objects, by the calls daos_kv_* of a library. A DAOS system has no conditional put: a transaction
// stands in for it there.
#include "base/not_copied.h"
#include "base/text.h"
#include "client/pending.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <utility>

namespace stepstore {

struct KeyValue::State : NotCopied {
    State(std::shared_ptr<Container::State> in, const ObjectId& oid, Access access)
        : container(std::move(in)), id(oid)
    {
        const int rc = library().kv_open(container->handle, to_daos(id), open_mode(*container, access),
                                         &handle, nullptr);
        check(library(), rc, [&] { return "open key-value " + name(); });
    }
    ~State() { library().kv_close(handle, nullptr); }

    const Library& library() const { return container->library(); }
    std::string name() const { return object_name(id, *container); }

    // -DER_NONEXIST, -DER_REC2BIG or 0; *size as in daos_kv_get.
    int get(const std::string& key, daos_size_t* size, void* into,
            std::uint64_t flags = DAOS_COND_KEY_GET) const
    {
        const int rc =
            library().kv_get(handle, container->transaction, flags, key.c_str(), size, into, nullptr);
        if (rc != 0 && rc != -DER_NONEXIST && rc != -DER_REC2BIG)
            fail(library(), rc, "get " + stepstore::quoted(key) + " from " + name());
        return rc;
    }
    std::optional<std::vector<std::byte>> value(std::string_view key, std::uint64_t flags) const;
    // value nullptr: removes the key
    std::optional<std::size_t> replace(std::string_view key, const void* value, std::size_t size,
                                       MutableBytes old);
    bool update_if(std::string_view key, std::optional<Bytes> expected, const void* value, std::size_t size);
    int update_in_transaction(const std::string& key, Bytes expected, const void* value, std::size_t size);

    std::shared_ptr<Container::State> container;
    ObjectId id;
    daos_handle_t handle{};
};

namespace {

// The C API ends keys at a zero.
std::string checked(std::string_view key)
{
    if (key.empty()) throw Error(-DER_INVAL, "the key is empty: give at least one byte");
    std::string name(key);
    c_text(name, "key");
    return name;
}

// An empty value is not the same as none.
const void* present(Bytes value)
{
    return value.data() ? static_cast<const void*>(value.data()) : "";
}

std::uint64_t put_flags(Condition condition)
{
    return condition == Condition::none             ? 0
           : condition == Condition::must_not_exist ? DAOS_COND_KEY_INSERT
                                                    : DAOS_COND_KEY_UPDATE;
}

} // namespace

struct KeyPages::State : NotCopied {
    explicit State(std::shared_ptr<KeyValue::State> of) : object(std::move(of)) {}
    void list(); // fills `page`; it may stay empty before the end

    std::shared_ptr<KeyValue::State> object;
    daos_anchor_t anchor{};
    std::vector<daos_key_desc_t> descriptors{1024};
    std::vector<char> text = std::vector<char>(64 << 10); // the keys, one after the other
    std::vector<std::string_view> page;
};

void KeyPages::State::list()
{
    page.clear();
    auto count = static_cast<std::uint32_t>(descriptors.size());
    d_iov_t piece;
    d_iov_set(&piece, text.data(), text.size());
    d_sg_list_t memory{.sg_nr = 1, .sg_nr_out = 0, .sg_iovs = &piece};
    const int rc = object->library().kv_list(object->handle, object->container->transaction, &count,
                                             descriptors.data(), &memory, &anchor, nullptr);
    if (rc == -DER_KEY2BIG && descriptors[0].kd_key_len > text.size()) {
        text.resize(descriptors[0].kd_key_len);
        return;
    }
    check(object->library(), rc, [&] { return "list the keys of " + object->name(); });
    const char* at = text.data();
    for (std::uint32_t i = 0; i < count; ++i) {
        page.emplace_back(at, descriptors[i].kd_key_len);
        at += descriptors[i].kd_key_len;
    }
}

KeyPages::KeyPages() = default;
KeyPages::~KeyPages() = default;
KeyPages::KeyPages(KeyPages&&) noexcept = default;
KeyPages& KeyPages::operator=(KeyPages&&) noexcept = default;

std::span<const std::string_view> KeyPages::next()
{
    state_->page.clear();
    while (state_->page.empty() && !daos_anchor_is_eof(&state_->anchor))
        state_->list();
    return state_->page;
}

KeyValue::KeyValue() = default;
KeyValue::~KeyValue() = default;
KeyValue::KeyValue(KeyValue&&) noexcept = default;
KeyValue& KeyValue::operator=(KeyValue&&) noexcept = default;

KeyValue Container::key_value(const ObjectId& id, Access access) const
{
    KeyValue object;
    object.state_ = std::make_shared<KeyValue::State>(state_, id, access);
    return object;
}

std::function<KeyValue()> KeyValue::opener() const
{
    const Pool::State& pool = *state_->container->pool;
    std::string location = pool.location, name = pool.connected.empty() ? location : pool.connected;
    if (capabilities_of(location).directory) // the working directory may be another one by then
        name = location = absolute_location(location, std::filesystem::current_path().string());
    return [library = pool.initialised.shared(), location, name, label = state_->container->label,
            id = state_->id] {
        auto opened = std::make_shared<Pool::State>(library, name, location, Access::read_write);
        auto container = std::make_shared<Container::State>(std::move(opened), label, Access::read_write);
        KeyValue object;
        object.state_ = std::make_shared<State>(std::move(container), id, Access::read_write);
        return object;
    };
}

const ObjectId& KeyValue::id() const
{
    return state_->id;
}

void KeyValue::put(std::string_view key, Bytes value, Condition condition)
{
    const std::string name = checked(key);
    const int rc =
        state_->library().kv_put(state_->handle, state_->container->transaction, put_flags(condition),
                                 name.c_str(), value.size(), value.data(), nullptr);
    check(state_->library(), rc, [&] { return "put " + stepstore::quoted(key) + " into " + state_->name(); });
}

std::optional<std::vector<std::byte>> KeyValue::State::value(std::string_view key, std::uint64_t flags) const
{
    const std::string name = checked(key);
    std::array<std::byte, 4096> small; // one call for usual values
    daos_size_t size = small.size();
    int rc = get(name, &size, small.data(), flags);
    if (rc == -DER_NONEXIST) return std::nullopt;
    if (rc == 0) return std::vector(small.data(), small.data() + size);
    std::vector<std::byte> value;
    while (rc == -DER_REC2BIG) { // again when it was replaced by a larger one meanwhile
        value.resize(size);
        rc = get(name, &size, value.data(), flags);
    }
    if (rc == -DER_NONEXIST) return std::nullopt;
    value.resize(size);
    return value;
}

std::optional<std::vector<std::byte>> KeyValue::get(std::string_view key) const
{
    return state_->value(key, DAOS_COND_KEY_GET);
}

std::optional<std::vector<std::byte>> KeyValue::get_nonempty(std::string_view key) const
{
    auto value = state_->value(key, 0);
    if (value && value->empty()) return std::nullopt;
    return value;
}

std::vector<std::optional<std::vector<std::byte>>> KeyValue::get_many(std::span<const std::string_view> keys,
                                                                      std::size_t most_bytes) const
{
    std::vector<std::optional<std::vector<std::byte>>> values;
    const Library& library = state_->library();
    std::size_t bytes = 0;
    if (!library.kv_get_many) {
        for (const std::string_view key : keys) {
            const auto& value = values.emplace_back(get(key));
            bytes += value ? value->size() : 0;
            if (bytes >= most_bytes) break;
        }
        return values;
    }
    constexpr std::size_t most_keys = 256, room = 4096;
    keys = keys.first(std::min(keys.size(), most_keys));
    const auto read = [&](std::vector<stepstore_kv_read_t>& reads) {
        const int rc = library.kv_get_many(state_->handle, state_->container->transaction,
                                           static_cast<unsigned>(reads.size()), reads.data());
        check(library, rc,
              [&] { return "get " + std::to_string(reads.size()) + " keys from " + state_->name(); });
    };
    std::vector<std::string> names;
    names.reserve(keys.size());
    for (const std::string_view key : keys)
        names.push_back(checked(key));
    std::vector<std::byte> small(keys.size() * room);
    std::vector<stepstore_kv_read_t> all;
    for (std::size_t i = 0; i < keys.size(); ++i)
        all.push_back({names[i].c_str(), &small[i * room], room});
    read(all);
    // What did not fit is read by one more request.
    std::vector<stepstore_kv_read_t> large;
    std::vector<std::size_t> places; // of these among the values
    values.reserve(keys.size());
    for (std::size_t i = 0; i < keys.size() && bytes < most_bytes; ++i) {
        auto& value = values.emplace_back();
        if (all[i].size == UINT64_MAX) continue;
        bytes += all[i].size;
        const auto* const begin = static_cast<const std::byte*>(all[i].buf);
        if (all[i].size <= room) {
            value.emplace(begin, begin + all[i].size);
            continue;
        }
        value.emplace(all[i].size);
        large.push_back({names[i].c_str(), value->data(), all[i].size});
        places.push_back(i);
    }
    if (large.empty()) return values;
    read(large);
    for (std::size_t i = 0; i < large.size(); ++i) {
        auto& value = values[places[i]];
        if (large[i].size <= value->size())
            value->resize(large[i].size);
        else
            value = get(keys[places[i]]); // replaced by a larger one meanwhile, or gone
    }
    return values;
}

bool KeyValue::asks_for_many() const
{
    return state_->library().kv_get_many != nullptr;
}

std::optional<std::size_t> KeyValue::get_into(std::string_view key, MutableBytes into) const
{
    daos_size_t size = into.size();
    const int rc = state_->get(checked(key), &size, into.empty() ? nullptr : into.data());
    if (rc == -DER_NONEXIST) return std::nullopt;
    return size;
}

bool KeyValue::remove(std::string_view key, Condition condition)
{
    if (condition == Condition::must_not_exist)
        throw Error(-DER_INVAL,
                    "remove " + stepstore::quoted(key) + ": a key that must not exist cannot be removed");
    const std::string name = checked(key);
    const std::uint64_t flags = condition == Condition::must_exist ? DAOS_COND_KEY_REMOVE : 0;
    const int rc = state_->library().kv_remove(state_->handle, state_->container->transaction, flags,
                                               name.c_str(), nullptr);
    if (rc == -DER_NONEXIST && flags != 0) return false;
    check(state_->library(), rc,
          [&] { return "remove " + stepstore::quoted(key) + " from " + state_->name(); });
    return true;
}

std::optional<std::size_t> KeyValue::State::replace(std::string_view key, const void* value, std::size_t size,
                                                    MutableBytes old)
{
    const std::string name = checked(key);
    const auto tried = [&] { return "replace " + stepstore::quoted(key) + " in " + this->name(); };
    daos_size_t replaced = old.size();
    if (library().kv_exchange) {
        check(library(),
              library().kv_exchange(handle, container->transaction, name.c_str(), size, value, old.data(),
                                    &replaced),
              tried);
        return replaced == UINT64_MAX ? std::nullopt : std::optional<std::size_t>(replaced);
    }
    const int found = get(name, &replaced, old.data());
    const int rc =
        value ? library().kv_put(handle, container->transaction, 0, name.c_str(), size, value, nullptr)
              : library().kv_remove(handle, container->transaction, 0, name.c_str(), nullptr);
    check(library(), rc, tried);
    return found == -DER_NONEXIST ? std::nullopt : std::optional<std::size_t>(replaced);
}

std::optional<std::size_t> KeyValue::exchange(std::string_view key, Bytes value, MutableBytes old)
{
    return state_->replace(key, present(value), value.size(), old);
}

std::optional<std::size_t> KeyValue::take(std::string_view key, MutableBytes old)
{
    return state_->replace(key, nullptr, 0, old);
}

// On a DAOS system. 0, -DER_MISMATCH, or why it failed.
int KeyValue::State::update_in_transaction(const std::string& key, Bytes expected, const void* value,
                                           std::size_t size)
{
    const Library& daos = library();
    daos_handle_t th{};
    if (const int rc = daos.tx_open(container->handle, &th, 0, nullptr)) return rc;
    std::vector<std::byte> there(expected.size() + 1); // never 0 bytes, which would ask for the size alone
    const auto attempt = [&]() -> int {
        daos_size_t found = there.size();
        const int got =
            daos.kv_get(handle, th, DAOS_COND_KEY_GET, key.c_str(), &found, there.data(), nullptr);
        if (got == -DER_NONEXIST || got == -DER_REC2BIG) return -DER_MISMATCH;
        if (got != 0) return got;
        if (!std::ranges::equal(Bytes(there).first(found), expected)) return -DER_MISMATCH;
        const int put = value ? daos.kv_put(handle, th, 0, key.c_str(), size, value, nullptr)
                              : daos.kv_remove(handle, th, 0, key.c_str(), nullptr);
        return put != 0 ? put : daos.tx_commit(th, nullptr);
    };
    int rc = attempt();
    while (rc == -DER_TX_RESTART) { // another transaction was faster
        rc = daos.tx_restart(th, nullptr);
        if (rc == 0) rc = attempt();
    }
    if (rc != 0) daos.tx_abort(th, nullptr);
    daos.tx_close(th, nullptr);
    return rc;
}

// value nullptr: removes the key
bool KeyValue::State::update_if(std::string_view key, std::optional<Bytes> expected, const void* value,
                                std::size_t size)
{
    const std::string name = checked(key);
    const auto tried = [&] { return "update " + stepstore::quoted(key) + " in " + this->name(); };
    const Library& in = library();
    int rc = 0;
    if (in.kv_put_if) {
        rc = in.kv_put_if(handle, container->transaction, name.c_str(), expected ? expected->size() : 0,
                          expected ? present(*expected) : nullptr, size, value);
    } else if (!expected || daos_handle_is_valid(container->transaction)) {
        rc = in.kv_put(handle, container->transaction, DAOS_COND_KEY_INSERT, name.c_str(), size, value,
                       nullptr);
    } else if (in.tx_open && in.tx_commit && in.tx_restart && in.tx_abort) {
        rc = update_in_transaction(name, *expected, value, size);
    } else {
        throw Error(-DER_NOSYS, tried() +
                                    ": a value is replaced on the condition of the old one by a "
                                    "transaction, and " +
                                    in.name + " has none: use libdaos 2.6 or newer");
    }
    if (rc == -DER_MISMATCH || (rc == -DER_EXIST && !expected)) return false;
    check(in, rc, tried);
    return true;
}

bool KeyValue::put_if(std::string_view key, std::optional<Bytes> expected, Bytes value)
{
    return state_->update_if(key, expected, present(value), value.size());
}

bool KeyValue::remove_if(std::string_view key, Bytes expected)
{
    return state_->update_if(key, expected, nullptr, 0);
}

std::vector<std::string> KeyValue::list_below(const std::string& prefix, char delimiter) const
{
    std::set<std::string> found;
    const auto take = [&](std::string_view key) { found.emplace(key); };
    const Library& library = state_->library();
    if (!library.kv_list_below) {
        list([&](std::string_view key) {
            if (!key.starts_with(prefix)) return true;
            const std::size_t at = delimiter ? key.find(delimiter, prefix.size()) : std::string_view::npos;
            take(at == std::string_view::npos ? key : key.substr(0, at + 1));
            return true;
        });
        return {found.begin(), found.end()};
    }
    const auto each = [](const char* key, std::size_t size, void* arg) noexcept {
        (*static_cast<decltype(take)*>(arg))({key, size});
        return 0;
    };
    const int rc =
        library.kv_list_below(state_->handle, state_->container->transaction, c_text(prefix, "prefix"),
                              delimiter, each, const_cast<void*>(static_cast<const void*>(&take)));
    check(library, rc,
          [&] { return "list the keys below " + stepstore::quoted(prefix) + " of " + state_->name(); });
    return {found.begin(), found.end()};
}

std::vector<std::string> KeyValue::list() const
{
    std::vector<std::string> keys;
    list([&](std::string_view key) {
        keys.emplace_back(key);
        return true;
    });
    return keys;
}

void KeyValue::list(const std::function<bool(std::string_view)>& each) const
{
    KeyPages keys = pages();
    for (auto page = keys.next(); !page.empty(); page = keys.next())
        for (const std::string_view key : page)
            if (!each(key)) return;
}

KeyPages KeyValue::pages() const
{
    KeyPages keys;
    keys.state_ = std::make_unique<KeyPages::State>(state_);
    return keys;
}

EventQueue KeyValue::event_queue() const
{
    return EventQueue(std::make_shared<EventQueue::State>(state_->container->pool));
}

struct KeyWatch::State : NotCopied {
    State(std::shared_ptr<KeyValue::State> of, daos_handle_t made) : object(std::move(of)), handle(made) {}
    ~State() { object->library().watch_close(handle); }

    std::shared_ptr<KeyValue::State> object;
    daos_handle_t handle;
};

KeyWatch::KeyWatch() = default;
KeyWatch::~KeyWatch() = default;
KeyWatch::KeyWatch(KeyWatch&&) noexcept = default;
KeyWatch& KeyWatch::operator=(KeyWatch&&) noexcept = default;

KeyWatch::Got KeyWatch::wait(std::chrono::microseconds most)
{
    int got = STEPSTORE_WATCH_NOTHING;
    const Library& library = state_->object->library();
    check(library,
          library.watch_wait(state_->handle, static_cast<std::uint64_t>(std::max(most.count(), {})), &got),
          [&] { return "wait for a key of " + state_->object->name(); });
    return static_cast<Got>(got);
}

void KeyValue::announce(std::string_view key) const
{
    const Library& library = state_->library();
    if (!library.kv_announce) return;
    check(library, library.kv_announce(state_->handle, checked(key).c_str()),
          [&] { return "announce " + stepstore::quoted(key) + " of " + state_->name(); });
}

std::optional<KeyWatch> KeyValue::watch(std::string_view key) const
{
    const Library& library = state_->library();
    daos_handle_t handle{};
    const int rc = library.kv_watch ? library.kv_watch(state_->handle, checked(key).c_str(), &handle)
                                    : -DER_NOTSUPPORTED;
    if (rc == -DER_NOTSUPPORTED) return std::nullopt;
    check(library, rc, [&] { return "watch " + stepstore::quoted(key) + " of " + state_->name(); });
    KeyWatch watch;
    watch.state_ = std::make_unique<KeyWatch::State>(state_, handle);
    return watch;
}

void KeyValue::destroy()
{
    const int rc = state_->library().kv_destroy(state_->handle, state_->container->transaction, nullptr);
    check(state_->library(), rc, [&] { return "destroy " + state_->name(); });
}

Pending KeyValue::put(EventQueue& queue, std::string_view key, Bytes value, Condition condition)
{
    Pending pending;
    pending.state_ = std::make_unique<Pending::State>(queue.state_, state_);
    Pending::State& call = *pending.state_;
    call.key = checked(key);
    call.tried = [&call, object = state_.get()] {
        return "put " + stepstore::quoted(call.key) + " into " + object->name();
    };
    call.start([&] {
        return state_->library().kv_put(state_->handle, state_->container->transaction, put_flags(condition),
                                        call.key.c_str(), value.size(), value.data(), &call.launch.event);
    });
    return pending;
}

Pending KeyValue::get_into(EventQueue& queue, std::string_view key, std::byte* into, std::size_t* size,
                           Condition condition) const
{
    static_assert(sizeof(std::size_t) == sizeof(daos_size_t));
    Pending pending;
    pending.state_ = std::make_unique<Pending::State>(queue.state_, state_);
    Pending::State& call = *pending.state_;
    call.key = checked(key);
    call.tried = [&call, object = state_.get()] {
        return "get " + stepstore::quoted(call.key) + " from " + object->name();
    };
    const std::uint64_t flags = condition == Condition::must_exist ? DAOS_COND_KEY_GET : 0;
    call.start([&] {
        return state_->library().kv_get(state_->handle, state_->container->transaction, flags,
                                        call.key.c_str(), reinterpret_cast<daos_size_t*>(size), into,
                                        &call.launch.event);
    });
    return pending;
}

} // namespace stepstore

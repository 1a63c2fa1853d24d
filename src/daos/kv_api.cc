// The calls daos_kv_*: key-value objects, and stepstore_kv_* beside them.
#include "daos/api.h"

#include "daos/call.h"
#include "daos/caller_bytes.h"
#include "daos/global_handle.h"
#include "daos/key_listing.h"
#include "daos/resources.h"
#include "store/failure.h"

#include <algorithm>
#include <cstring>

using namespace stepstore::daos;
namespace store = stepstore::store;
using stepstore::as_bytes;
using stepstore::Bytes;
using stepstore::Error;
using stepstore::MutableBytes;

static_assert(STEPSTORE_WATCH_NOTHING == static_cast<int>(store::Waiter::Got::nothing) &&
              STEPSTORE_WATCH_ANNOUNCED == static_cast<int>(store::Waiter::Got::announced) &&
              STEPSTORE_WATCH_LOST == static_cast<int>(store::Waiter::Got::lost));

namespace {

std::shared_ptr<KeyValueResource> open_key_value(daos_handle_t coh, daos_obj_id_t oid, unsigned mode)
{
    auto container = resource<ContainerResource>(coh);
    if (!daos_is_kv(oid))
        invalid("an object of type " + std::to_string(type_number(oid)) +
                " is not a key-value object: make its id with daos_obj_generate_oid(..., DAOS_OT_KV_HASHED, "
                "...)");
    return std::make_shared<KeyValueResource>(std::move(container), oid, mode);
}

Bytes key_bytes(const char* key)
{
    require(key, "the key");
    if (*key == '\0') invalid("the key is empty");
    return as_bytes(key);
}

// As in libdaos, flags that say nothing to a call are passed over, and of two conditions on one put the
// update counts. A key has one value, so a condition on the akey is one on the key.
store::Condition put_condition(std::uint64_t flags)
{
    if ((flags & (DAOS_COND_KEY_UPDATE | DAOS_COND_AKEY_UPDATE)) != 0) return store::Condition::must_exist;
    if ((flags & (DAOS_COND_KEY_INSERT | DAOS_COND_AKEY_INSERT)) != 0)
        return store::Condition::must_not_exist;
    return store::Condition::none;
}

Error no_key(const KeyValueResource& object, Bytes key)
{
    return {-DER_NONEXIST, object.name() + " has no key " + store::quoted(key)};
}

// The size of the value.
std::uint64_t get(KeyValueResource& object, const Moment& epoch, bool must_exist, Bytes key,
                  MutableBytes into)
{
    const auto stored =
        object.run(epoch, [&](store::Container& in) { return in.kv_get(object.oid(), key, into, epoch); });
    if (!stored && must_exist) throw no_key(object, key); // and *size stays as it is
    return stored.value_or(0);
}

void require_room(Bytes key, std::uint64_t size, std::uint64_t room)
{
    if (room == 0 || size <= room) return;
    throw Error(-DER_REC2BIG, "the value of " + store::quoted(key) + " has " + std::to_string(size) +
                                  " bytes, and there is room for " + std::to_string(room));
}

} // namespace

extern "C" {

int daos_kv_open(daos_handle_t coh, daos_obj_id_t oid, unsigned int mode, daos_handle_t* oh, daos_event_t* ev)
{
    return call("daos_kv_open", ev, [=] {
        require(oh, "oh");
        *oh = insert_handle(open_key_value(coh, oid, mode));
    });
}

int daos_kv_close(daos_handle_t oh, daos_event_t* ev)
{
    return call("daos_kv_close", ev, [=] { close_handle(oh, Kind::key_value); });
}

int daos_kv_destroy(daos_handle_t oh, daos_handle_t th, daos_event_t* ev)
{
    return call("daos_kv_destroy", ev, [=] { return punch<KeyValueResource>(oh, th); });
}

int daos_kv_put(daos_handle_t oh, daos_handle_t th, uint64_t flags, const char* key, daos_size_t size,
                const void* buf, daos_event_t* ev)
{
    return call("daos_kv_put", ev, [=] {
        auto object = resource<KeyValueResource>(oh);
        auto moment = object->writing(th);
        CallerBytes name(key_bytes(key), ev);
        if (size > 0) require(buf, "the value");
        CallerBytes value({static_cast<const std::byte*>(buf), size}, ev && size < travels_with_request);
        return [object = std::move(object), moment = std::move(moment), name = std::move(name),
                value = std::move(value), condition = put_condition(flags)] {
            object->run_if(moment, condition != store::Condition::none,
                           [&](store::Container& in, bool conditional) {
                               in.kv_put(object->oid(), name.view(), value.view(),
                                         conditional ? condition : store::Condition::none);
                           });
        };
    });
}

int daos_kv_get(daos_handle_t oh, daos_handle_t th, uint64_t flags, const char* key, daos_size_t* size,
                void* buf, daos_event_t* ev)
{
    return call("daos_kv_get", ev, [=] {
        auto object = resource<KeyValueResource>(oh);
        const CallerBytes name(key_bytes(key), ev);
        require(size, "size");
        const MutableBytes into(static_cast<std::byte*>(buf), buf ? *size : 0); // DAOS_REC_ANY is 0
        const auto epoch = object->reading(th);
        return [=, object = std::move(object)] {
            const bool must_exist = (flags & (DAOS_COND_KEY_GET | DAOS_COND_AKEY_FETCH)) != 0;
            return [=, stored = get(*object, epoch, must_exist, name.view(), into)] {
                *size = stored;
                require_room(name.view(), stored, into.size());
            };
        };
    });
}

int daos_kv_remove(daos_handle_t oh, daos_handle_t th, uint64_t flags, const char* key, daos_event_t* ev)
{
    return call("daos_kv_remove", ev, [=] {
        auto object = resource<KeyValueResource>(oh);
        auto moment = object->writing(th);
        const CallerBytes name(key_bytes(key), ev);
        return [=, object = std::move(object), moment = std::move(moment)] {
            const bool conditional = (flags & DAOS_COND_KEY_REMOVE) != 0;
            const bool removed = object->run_if(moment, conditional, [&](store::Container& in, bool) {
                return in.kv_remove(object->oid(), name.view());
            });
            if (!removed && conditional) throw no_key(*object, name.view());
        };
    });
}

int daos_kv_list(daos_handle_t oh, daos_handle_t th, uint32_t* nr, daos_key_desc_t* kds, d_sg_list_t* sgl,
                 daos_anchor_t* anchor, daos_event_t* ev)
{
    return call("daos_kv_list", ev, [=] {
        auto object = resource<KeyValueResource>(oh);
        require_listing(nr, kds, sgl, anchor);
        const auto epoch = object->reading(th);
        return [=, object = std::move(object)] {
            const auto walk = [&](store::ListPosition& position, stepstore::FunctionRef<bool(Bytes)> take) {
                object->run(epoch,
                            [&](store::Container& in) { in.kv_list(object->oid(), position, take, epoch); });
            };
            list_keys(*object, Level::dkey, false, walk, nr, kds, sgl, anchor);
        };
    });
}

int stepstore_kv_exchange(daos_handle_t oh, daos_handle_t th, const char* key, daos_size_t size,
                          const void* buf, void* old, daos_size_t* old_size)
{
    return call("stepstore_kv_exchange", [&] {
        const auto object = resource<KeyValueResource>(oh);
        const auto moment = object->writing(th);
        const Bytes name = key_bytes(key);
        require(old_size, "old_size");
        store::Replaced replaced{{static_cast<std::byte*>(old), old ? *old_size : 0}, {}};
        object->run(moment, [&](store::Container& in) {
            if (buf)
                in.kv_put(object->oid(), name, {static_cast<const std::byte*>(buf), size}, {}, &replaced);
            else
                in.kv_remove(object->oid(), name, {}, &replaced);
        });
        *old_size = replaced.size.value_or(UINT64_MAX);
    });
}

int stepstore_kv_put_if(daos_handle_t oh, daos_handle_t th, const char* key, daos_size_t expected_size,
                        const void* expected, daos_size_t size, const void* buf)
{
    return call("stepstore_kv_put_if", [&] {
        const auto object = resource<KeyValueResource>(oh);
        const auto moment = object->writing(th);
        const Bytes name = key_bytes(key);
        if (!expected && !buf)
            invalid("expected and buf are NULL: a key that is not there cannot be removed");
        const store::Precondition condition =
            expected ? store::Precondition::equals({static_cast<const std::byte*>(expected), expected_size})
                     : store::Precondition(store::Condition::must_not_exist);
        object->run_if(moment, true, [&](store::Container& in, bool conditional) {
            const store::Precondition when = conditional ? condition : store::Precondition();
            if (buf)
                in.kv_put(object->oid(), name, {static_cast<const std::byte*>(buf), size}, when);
            else
                in.kv_remove(object->oid(), name, when);
        });
    });
}

int stepstore_kv_list_below(daos_handle_t oh, daos_handle_t th, const char* prefix, char delimiter,
                            stepstore_key_cb each, void* arg)
{
    int ended = 0;
    const int rc = call("stepstore_kv_list_below", [&] {
        const auto object = resource<KeyValueResource>(oh);
        require(prefix, "prefix");
        if (!each) invalid("each is NULL: give a function");
        if (delimiter < 0) invalid("the delimiter is a character of 7 bits");
        const auto epoch = object->reading(th);
        store::ListPosition position;
        const store::KeyFilter filter{as_bytes(prefix), delimiter};
        const auto take = [&](Bytes key) {
            ended = each(reinterpret_cast<const char*>(key.data()), key.size(), arg);
            return ended == 0;
        };
        object->run(epoch,
                    [&](store::Container& in) { in.kv_list(object->oid(), position, take, epoch, filter); });
    });
    return rc != 0 ? rc : ended;
}

int stepstore_kv_get_many(daos_handle_t oh, daos_handle_t th, unsigned int nr, stepstore_kv_read_t* reads)
{
    return call("stepstore_kv_get_many", [&] {
        const auto object = resource<KeyValueResource>(oh);
        if (nr > 0) require(reads, "reads");
        const auto epoch = object->reading(th);
        std::vector<store::KeyRead> all;
        all.reserve(nr);
        for (const stepstore_kv_read_t& one : std::span(reads, nr))
            all.push_back(
                {key_bytes(one.key), {static_cast<std::byte*>(one.buf), one.buf ? one.size : 0}, {}});
        object->run(epoch, [&](store::Container& in) { in.kv_get_many(object->oid(), all, epoch); });
        for (std::size_t i = 0; i < nr; ++i)
            reads[i].size = all[i].size.value_or(UINT64_MAX);
    });
}

int stepstore_kv_announce(daos_handle_t oh, const char* key)
{
    return call("stepstore_kv_announce", [&] {
        const auto object = resource<KeyValueResource>(oh);
        const Bytes name = key_bytes(key);
        object->run(store::latest, [&](store::Container& in) { in.kv_announce(object->oid(), name); });
    });
}

int stepstore_kv_watch(daos_handle_t oh, const char* key, daos_handle_t* wh)
{
    return call("stepstore_kv_watch", [&] {
        auto object = resource<KeyValueResource>(oh);
        const Bytes name = key_bytes(key);
        require(wh, "wh");
        auto waiter = object->run(store::latest,
                                  [&](store::Container& in) { return in.kv_watch(object->oid(), name); });
        if (waiter == nullptr)
            throw Error(-DER_NOTSUPPORTED,
                        "keys of " + object->name() + " cannot be watched, or not now: look again and again");
        *wh = insert_handle(std::make_shared<WatchResource>(std::move(object), std::move(waiter)));
    });
}

int stepstore_watch_wait(daos_handle_t wh, uint64_t most_us, int* got)
{
    return call("stepstore_watch_wait", [&] {
        const auto watch = resource<WatchResource>(wh);
        require(got, "got");
        // An hour, where it is longer: who waits so long looks in between.
        const auto most = std::chrono::microseconds(std::min(most_us, std::uint64_t{3600000000}));
        *got = static_cast<int>(watch->wait(most));
    });
}

int stepstore_watch_close(daos_handle_t wh)
{
    return call("stepstore_watch_close", [&] { close_handle(wh, Kind::watch); });
}

int stepstore_kv_local2global(daos_handle_t oh, d_iov_t* glob)
{
    return call("stepstore_kv_local2global",
                [&] { put_global(describe(*resource<KeyValueResource>(oh)), glob); });
}

int stepstore_kv_global2local(daos_handle_t coh, d_iov_t glob, unsigned int mode, daos_handle_t* oh)
{
    return call("stepstore_kv_global2local", [&] {
        require(oh, "oh");
        const auto container = resource<ContainerResource>(coh);
        const auto handle = get_global(glob, Kind::key_value);
        if (handle.container != container->uuid())
            invalid("the global handle is not for an object in " + container->name());
        *oh = insert_handle(open_key_value(coh, handle.oid, mode != 0 ? mode : handle.mode));
    });
}

} // extern "C"

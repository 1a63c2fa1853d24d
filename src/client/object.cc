// Objects of dkeys and akeys, by the calls daos_obj_* of a library.
#include "base/bytes.h"
#include "base/not_copied.h"
#include "client/state.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

namespace stepstore {

struct Object::State : NotCopied {
    State(std::shared_ptr<Container::State> in, const ObjectId& oid, Access access)
        : container(std::move(in)), id(oid)
    {
        const int rc = library().obj_open(container->handle, to_daos(id), open_mode(*container, access),
                                          &handle, nullptr);
        check(library(), rc, [&] { return "open " + name(); });
    }
    ~State() { library().obj_close(handle, nullptr); }

    const Library& library() const { return container->library(); }
    std::string name() const { return object_name(id, *container); }
    // For messages: "fetch dkey 'x' of object 1.2 of container c".
    std::string tried(const char* what, Bytes dkey) const;

    // Keys into `each`, page by page. list: the call, with the arguments that a listing has.
    template <class List>
    void list_keys(List list, const std::string& tried, const std::function<bool(Bytes)>& each) const;

    std::shared_ptr<Container::State> container;
    ObjectId id;
    daos_handle_t handle{};
};

namespace {

daos_key_t key_of(Bytes bytes)
{
    daos_key_t key;
    d_iov_set(&key, const_cast<std::byte*>(bytes.data()), bytes.size());
    return key;
}

std::uint64_t flags_of(Condition condition, std::uint64_t update, std::uint64_t insert)
{
    return condition == Condition::none ? 0 : condition == Condition::must_exist ? update : insert;
}

// A request of the C API: what it refers to, for several akeys.
struct AkeyCall : NotCopied {
    // Entry: AkeyUpdate or AkeyFetch.
    template <class Entry>
    explicit AkeyCall(std::span<Entry> entries)
    {
        std::size_t ranges = 0, memory = 0;
        for (const auto& entry : entries) {
            ranges += entry.records.size();
            memory += entry.memory.size();
        }
        recxs.reserve(ranges);
        pieces.reserve(memory); // so that pointers to them stay valid
        for (const auto& entry : entries) {
            daos_iod_t iod{};
            iod.iod_name = key_of(entry.akey);
            iod.iod_type = entry.type == AkeyType::single ? DAOS_IOD_SINGLE : DAOS_IOD_ARRAY;
            iod.iod_size = entry.record_size;
            iod.iod_nr = 1;
            if (entry.type == AkeyType::array) {
                iod.iod_recxs = recxs.data() + recxs.size();
                for (const Range& range : entry.records)
                    if (range.length > 0) recxs.push_back({range.index, range.length});
                iod.iod_nr = static_cast<std::uint32_t>(recxs.data() + recxs.size() - iod.iod_recxs);
            }
            d_sg_list_t list{.sg_nr = 0, .sg_nr_out = 0, .sg_iovs = pieces.data() + pieces.size()};
            for (const auto& piece : entry.memory)
                if (!piece.empty()) {
                    d_iov_set(&pieces.emplace_back(), const_cast<std::byte*>(piece.data()), piece.size());
                    ++list.sg_nr;
                }
            iods.push_back(iod);
            lists.push_back(list);
        }
    }
    unsigned count() const { return static_cast<unsigned>(iods.size()); }

    std::vector<daos_recx_t> recxs;
    std::vector<d_iov_t> pieces;
    std::vector<daos_iod_t> iods;
    std::vector<d_sg_list_t> lists;
};

void clear(std::span<const MutableBytes> memory)
{
    for (const MutableBytes& piece : memory)
        if (!piece.empty()) std::memset(piece.data(), 0, piece.size());
}

} // namespace

std::string Object::State::tried(const char* what, Bytes dkey) const
{
    return what + (" dkey " + stepstore::quoted(as_text(dkey))) + " of " + name();
}

Object::Object() = default;
Object::~Object() = default;
Object::Object(Object&&) noexcept = default;
Object& Object::operator=(Object&&) noexcept = default;

Object Container::object(const ObjectId& id, Access access) const
{
    Object object;
    object.state_ = std::make_shared<Object::State>(state_, id, access);
    return object;
}

const ObjectId& Object::id() const
{
    return state_->id;
}

void Object::update(Bytes dkey, std::span<const AkeyUpdate> updates, Condition of_dkey)
{
    AkeyCall call(updates);
    for (std::size_t i = 0; i < updates.size(); ++i)
        call.iods[i].iod_flags = flags_of(updates[i].condition, DAOS_COND_AKEY_UPDATE, DAOS_COND_AKEY_INSERT);
    const bool conditional = std::ranges::any_of(
        updates, [](const AkeyUpdate& update) { return update.condition != Condition::none; });
    const std::uint64_t flags = flags_of(of_dkey, DAOS_COND_DKEY_UPDATE, DAOS_COND_DKEY_INSERT) |
                                (conditional ? DAOS_COND_PER_AKEY : 0);
    daos_key_t key = key_of(dkey);
    const int rc = state_->library().obj_update(state_->handle, state_->container->transaction, flags, &key,
                                                call.count(), call.iods.data(), call.lists.data(), nullptr);
    check(state_->library(), rc, [&] { return state_->tried("update", dkey); });
}

void Object::update(Bytes dkey, Bytes akey, Bytes value, Condition of_akey)
{
    const AkeyUpdate update{.akey = akey,
                            .record_size = value.size(),
                            .records = {},
                            .memory = {&value, 1},
                            .condition = of_akey};
    this->update(dkey, {&update, 1});
}

void Object::fetch(Bytes dkey, std::span<AkeyFetch> fetches) const
{
    AkeyCall call(fetches);
    const Library& library = state_->library();
    if (!library.is_ours()) // which leaves memory as it is where nothing is stored
        for (const AkeyFetch& fetch : fetches)
            clear(fetch.memory);
    daos_key_t key = key_of(dkey);
    const int rc = library.obj_fetch(state_->handle, state_->container->transaction, 0, &key, call.count(),
                                     call.iods.data(), call.lists.data(), nullptr, nullptr);
    for (std::size_t i = 0; i < fetches.size(); ++i) {
        fetches[i].record_size = call.iods[i].iod_size;
        if (rc == 0 && call.lists[i].sg_nr_out == 0) clear(fetches[i].memory);
    }
    check(library, rc, [&] { return state_->tried("fetch", dkey); });
}

std::optional<std::vector<std::byte>> Object::fetch(Bytes dkey, Bytes akey) const
{
    std::vector<std::byte> value(4096); // one call for usual values
    for (;;) {
        const MutableBytes memory(value);
        AkeyFetch fetch{.akey = akey, .records = {}, .memory = {&memory, 1}};
        try {
            this->fetch(dkey, {&fetch, 1});
        } catch (const Error& error) {
            if (error.code() != -DER_REC2BIG || fetch.record_size <= value.size()) throw;
            value.resize(fetch.record_size); // again if it is replaced by a larger one meanwhile
            continue;
        }
        if (fetch.record_size == 0) return std::nullopt;
        value.resize(fetch.record_size);
        return value;
    }
}

void Object::punch(Bytes dkey)
{
    daos_key_t key = key_of(dkey);
    const int rc = state_->library().obj_punch_dkeys(state_->handle, state_->container->transaction, 0, 1,
                                                     &key, nullptr);
    check(state_->library(), rc, [&] { return state_->tried("punch", dkey); });
}

void Object::punch(Bytes dkey, std::span<const Bytes> akeys)
{
    daos_key_t key = key_of(dkey);
    std::vector<daos_key_t> names;
    std::ranges::transform(akeys, std::back_inserter(names), key_of);
    const int rc =
        state_->library().obj_punch_akeys(state_->handle, state_->container->transaction, 0, &key,
                                          static_cast<unsigned>(names.size()), names.data(), nullptr);
    check(state_->library(), rc, [&] { return state_->tried("punch akeys of", dkey); });
}

void Object::destroy()
{
    const int rc = state_->library().obj_punch(state_->handle, state_->container->transaction, 0, nullptr);
    check(state_->library(), rc, [&] { return "destroy " + state_->name(); });
}

LastUpdate Object::last_update() const
{
    const Library& library = state_->library();
    LastUpdate last;
    int rc =
        library.obj_query_max_epoch(state_->handle, state_->container->transaction, &last.epoch, nullptr);
    timespec time{};
    if (rc == 0) rc = library.hlc2timespec(last.epoch, &time);
    check(library, rc, [&] { return "ask for the latest update of " + state_->name(); });
    if (last.epoch == 0) return last;
    last.seconds = time.tv_sec;
    last.nanoseconds = static_cast<std::uint32_t>(time.tv_nsec);
    return last;
}

template <class List>
void Object::State::list_keys(List list, const std::string& tried,
                              const std::function<bool(Bytes)>& each) const
{
    daos_anchor_t anchor{};
    std::vector<daos_key_desc_t> descriptors(1024);
    std::vector<std::byte> memory(std::size_t{64} << 10); // the keys, one after the other
    while (!daos_anchor_is_eof(&anchor)) {
        auto count = static_cast<std::uint32_t>(descriptors.size());
        d_iov_t piece;
        d_iov_set(&piece, memory.data(), memory.size());
        d_sg_list_t into{.sg_nr = 1, .sg_nr_out = 0, .sg_iovs = &piece};
        const int rc = list(&count, descriptors.data(), &into, &anchor);
        if (rc == -DER_KEY2BIG && descriptors[0].kd_key_len > memory.size()) {
            memory.resize(descriptors[0].kd_key_len);
            continue;
        }
        check(library(), rc, [&] { return tried; });
        const std::byte* at = memory.data();
        for (std::uint32_t i = 0; i < count; at += descriptors[i++].kd_key_len)
            if (!each({at, descriptors[i].kd_key_len})) return;
    }
}

void Object::list_dkeys(const std::function<bool(Bytes)>& each) const
{
    state_->list_keys(
        [&](std::uint32_t* count, daos_key_desc_t* descriptors, d_sg_list_t* into, daos_anchor_t* anchor) {
            return state_->library().obj_list_dkey(state_->handle, state_->container->transaction, count,
                                                   descriptors, into, anchor, nullptr);
        },
        "list the dkeys of " + state_->name(), each);
}

void Object::list_akeys(Bytes dkey, const std::function<bool(Bytes)>& each) const
{
    daos_key_t key = key_of(dkey);
    state_->list_keys(
        [&](std::uint32_t* count, daos_key_desc_t* descriptors, d_sg_list_t* into, daos_anchor_t* anchor) {
            return state_->library().obj_list_akey(state_->handle, state_->container->transaction, &key,
                                                   count, descriptors, into, anchor, nullptr);
        },
        state_->tried("list the akeys of", dkey), each);
}

std::optional<AkeyInfo> Object::describe(Bytes dkey, Bytes akey) const
{
    const Library& library = state_->library();
    const daos_handle_t th = state_->container->transaction;
    const auto tried = [&] { return state_->tried("look up an akey of", dkey); };
    daos_key_t keys[2] = {key_of(dkey), key_of(akey)};
    daos_anchor_t anchor{};
    daos_size_t size = 0;
    std::uint32_t count = 1;
    daos_recx_t recx;
    daos_epoch_range_t epochs;
    int rc = library.obj_list_recx(state_->handle, th, &keys[0], &keys[1], &size, &count, &recx, &epochs,
                                   &anchor, true, nullptr);
    if (rc != -DER_NO_PERM) check(library, rc, tried); // DAOS refuses to read a value as an array
    if (rc == 0 && size > 0) return AkeyInfo{AkeyType::array, size};
    daos_iod_t iod{};
    iod.iod_name = keys[1];
    iod.iod_type = DAOS_IOD_SINGLE;
    iod.iod_nr = 1;
    rc = library.obj_fetch(state_->handle, th, 0, keys, 1, &iod, nullptr, nullptr, nullptr);
    check(library, rc, tried);
    if (iod.iod_size == 0) return std::nullopt;
    return AkeyInfo{AkeyType::single, iod.iod_size};
}

void Object::list_records(Bytes dkey, Bytes akey, const std::function<bool(const Range&)>& each) const
{
    daos_key_t keys[2] = {key_of(dkey), key_of(akey)};
    daos_anchor_t anchor{};
    std::vector<daos_recx_t> recxs(128);                  // DAOS 2.6 refuses more with -DER_INVAL
    std::vector<daos_epoch_range_t> epochs(recxs.size()); // which a DAOS system's library wants
    Range run{};
    while (!daos_anchor_is_eof(&anchor)) {
        daos_size_t size = 0;
        auto count = static_cast<std::uint32_t>(recxs.size());
        const int rc = state_->library().obj_list_recx(state_->handle, state_->container->transaction,
                                                       &keys[0], &keys[1], &size, &count, recxs.data(),
                                                       epochs.data(), &anchor, true, nullptr);
        check(state_->library(), rc, [&] { return state_->tried("list records of", dkey); });
        for (const daos_recx_t& recx : std::span(recxs).first(count)) {
            if (run.length > 0 && run.index + run.length == recx.rx_idx) {
                run.length += recx.rx_nr;
                continue;
            }
            if (run.length > 0 && !each(run)) return;
            run = {recx.rx_idx, recx.rx_nr};
        }
    }
    if (run.length > 0) each(run);
}

} // namespace stepstore

// Containers, their snapshots and object ids, by the calls daos_cont_* of a library.
#include "base/text.h"
#include "client/state.h"

#include <algorithm>
#include <utility>

namespace stepstore {

Container::State::State(std::shared_ptr<Pool::State> in, std::string name, Access access)
    : pool(std::move(in)), label(std::move(name))
{
    // libdaos lets a container be written through a connection for reading. Who asked for reading means it.
    const bool reads = access == Access::read_only || pool->access == Access::read_only;
    const unsigned flags = reads ? DAOS_COO_RO : DAOS_COO_RW;
    const int rc =
        library().cont_open(pool->handle, c_text(label, "container"), flags, &handle, nullptr, nullptr);
    check(library(), rc, [&] { return "open " + this->name(); });
}

Container::State::State(std::shared_ptr<Pool::State> in, std::string name, Bytes global)
    : pool(std::move(in)), label(std::move(name))
{
    const int rc = library().cont_global2local(pool->handle, global_iov(global), &handle);
    check(library(), rc, [&] { return "open " + this->name() + " with the handle of another process"; });
}

Container::State::State(std::shared_ptr<State> of, std::uint64_t at)
    : pool(of->pool), latest(std::move(of)), label(latest->label), handle(latest->handle), epoch(at)
{
    const int rc = library().tx_open_snap(handle, epoch, &transaction, nullptr);
    check(library(), rc, [&] { return "open " + name(); });
}

Container::State::~State()
{
    if (is_snapshot())
        library().tx_close(transaction, nullptr);
    else
        library().cont_close(handle, nullptr);
}

std::string Container::State::name() const
{
    return "container " + stepstore::quoted(label) + " of pool " + pool->location +
           (is_snapshot() ? " at snapshot " + std::to_string(epoch) : "");
}

std::string object_name(const ObjectId& id, const Container::State& container)
{
    return "object " + object_id_text(id.hi, id.lo) + " of " + container.name();
}

unsigned open_mode(const Container::State& container, Access access)
{
    return access == Access::read_only || container.is_snapshot() ? DAOS_OO_RO : DAOS_OO_RW;
}

Container::Container() = default;
Container::~Container() = default;
Container::Container(Container&&) noexcept = default;
Container& Container::operator=(Container&&) noexcept = default;

const std::string& Container::label() const
{
    return state_->label;
}

std::vector<std::byte> Container::to_global() const
{
    const Library& library = state_->library();
    return global_handle(
        library, [&](d_iov_t* into) { return library.cont_local2global(state_->handle, into); },
        "make the handle of " + state_->name() + " global");
}

ObjectId Container::object_id(std::uint64_t lo, std::uint32_t hi, ObjectType type,
                              std::string_view object_class) const
{
    const Library& library = state_->library();
    daos_oclass_id_t oclass = OC_UNKNOWN;
    if (!object_class.empty()) {
        oclass = static_cast<daos_oclass_id_t>(
            library.oclass_name2id(c_text(std::string(object_class), "object class")));
        if (oclass == OC_UNKNOWN)
            throw Error(-DER_INVAL, "there is no object class " + stepstore::quoted(object_class) +
                                        ": use S1, S2, S4, S6, S8, S12, S16, S32, SX or RP_2G1 ... RP_2GX");
    }
    const daos_otype_t types[] = {DAOS_OT_KV_HASHED, DAOS_OT_ARRAY, DAOS_OT_ARRAY_BYTE, DAOS_OT_MULTI_HASHED};
    daos_obj_id_t oid;
    oid.lo = lo;
    oid.hi = hi;
    const int rc =
        library.obj_generate_oid(state_->handle, &oid, types[static_cast<std::size_t>(type)], oclass, 0, 0);
    check(library, rc, [&] {
        return "make an object id of class " + stepstore::quoted(object_class) + " in " + state_->name();
    });
    return {oid.hi, oid.lo};
}

std::uint64_t Container::allocate_oids(std::uint64_t count)
{
    std::uint64_t first = 0;
    const int rc = state_->library().cont_alloc_oids(state_->handle, count, &first, nullptr);
    check(state_->library(), rc,
          [&] { return "allocate " + std::to_string(count) + " object ids in " + state_->name(); });
    return first;
}

std::uint64_t Container::create_snapshot(const std::string& name, bool objects)
{
    if (!name.empty() && !state_->library().is_ours())
        throw Error(-DER_NOSYS,
                    "create snapshot " + stepstore::quoted(name) + " of " + state_->name() +
                        ": snapshots of a DAOS system have no names: leave it out, and keep the epoch");
    c_text(name, "snapshot");
    std::string copy = name; // the call takes memory that it may write
    daos_epoch_t epoch = 0;
    const Library& library = state_->library();
    constexpr auto with_objects = static_cast<daos_snapshot_opts>(DAOS_SNAP_OPT_CR | DAOS_SNAP_OPT_OIT);
    char* text = copy.empty() ? nullptr : copy.data();
    const int rc = objects && !library.is_ours()
                       ? library.cont_create_snap_opt(state_->handle, &epoch, text, with_objects, nullptr)
                       : library.cont_create_snap(state_->handle, &epoch, text, nullptr);
    check(state_->library(), rc,
          [&] { return "create snapshot " + stepstore::quoted(name) + " of " + state_->name(); });
    return epoch;
}

std::vector<SnapshotEntry> Container::snapshots() const
{
    std::vector<daos_epoch_t> epochs(16);
    for (;;) {
        std::vector<std::string> texts(epochs.size(), std::string(DAOS_SNAPSHOT_MAX_LEN, '\0'));
        std::vector<char*> names;
        for (auto& text : texts)
            names.push_back(text.data());
        daos_anchor_t anchor{};
        int count = static_cast<int>(epochs.size());
        const int rc = state_->library().cont_list_snap(state_->handle, &count, epochs.data(), names.data(),
                                                        &anchor, nullptr);
        check(state_->library(), rc, [&] { return "list the snapshots of " + state_->name(); });
        const auto found = static_cast<std::size_t>(std::max(count, 0));
        if (found > epochs.size()) {
            epochs.resize(found + 16);
            continue;
        }
        std::vector<SnapshotEntry> entries;
        for (std::size_t i = 0; i < found; ++i)
            entries.push_back({epochs[i], texts[i].c_str()});
        return entries;
    }
}

void Container::destroy_snapshot(std::uint64_t epoch)
{
    const int rc = state_->library().cont_destroy_snap(state_->handle, {epoch, epoch}, nullptr);
    check(state_->library(), rc,
          [&] { return "destroy snapshot " + std::to_string(epoch) + " of " + state_->name(); });
}

void Container::destroy_snapshots(std::span<const std::uint64_t> epochs)
{
    const Library& library = state_->library();
    if (library.cont_destroy_snaps) {
        const int rc = library.cont_destroy_snaps(state_->handle, epochs.data(),
                                                  static_cast<std::uint32_t>(epochs.size()));
        return check(library, rc, [&] {
            return "destroy " + std::to_string(epochs.size()) + " snapshots of " + state_->name();
        });
    }
    for (const std::uint64_t epoch : epochs) {
        try {
            destroy_snapshot(epoch);
        } catch (const Error& error) {
            if (error.code() != -DER_NONEXIST) throw;
        }
    }
}

Container Container::at_snapshot(std::uint64_t epoch) const
{
    // libdaos opens any epoch, and only a snapshot's is sure to be whole.
    const auto known = snapshots();
    if (std::ranges::find(known, epoch, &SnapshotEntry::epoch) == known.end())
        throw Error(-DER_NONEXIST,
                    "open " + state_->name() + " as it was at epoch " + std::to_string(epoch) +
                        ": it has no snapshot at this epoch; `stepstore snapshot list` shows its snapshots");
    return at_epoch(epoch);
}

Container Container::at_epoch(std::uint64_t epoch) const
{
    Container container;
    container.state_ = std::make_shared<State>(state_->is_snapshot() ? state_->latest : state_, epoch);
    return container;
}

} // namespace stepstore

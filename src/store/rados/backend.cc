// Making and removing pools (pool.h has the steps).
#include "store/rados/backend.h"

#include "base/call_threads.h"
#include "stepstore/error.h"
#include "store/rados/host.h"
#include "store/rados/location.h"
#include "store/rados/storage.h"

#include <daos_errno.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <random>
#include <thread>

namespace stepstore::store::rados {

namespace {

std::string random_id()
{
    std::random_device device;
    std::string id;
    for (int digit = 0; digit < 16; ++digit)
        id += "0123456789abcdef"[device() % 16];
    return id;
}

// Replaces the header, or removes it, on condition that it still is `now`. False: it is not.
bool change_header(Io& io, const Header& now, const Header* next)
{
    librados::ObjectWriteOperation operation;
    operation.assert_exists();
    operation.cmpext(0, to_buffer(now.encoded()), nullptr);
    if (next != nullptr)
        operation.write_full(to_buffer(next->encoded()));
    else
        operation.remove();
    // Also on a full cluster, to which removing a pool gives room.
    const int code = io.write(header_object, operation, librados::OPERATION_FULL_FORCE).code;
    if (code == 0) return true;
    if (code == -ENOENT || code == -ECANCELED || code <= -4095) return false; // -4095: cmpext differs
    io.failed(code, "cannot change the pool's header");
}

// Removes the objects whose names begin with `prefix`.
void remove_objects(Io& io, const std::string& prefix)
{
    Io::Batch batch(io);
    io.each_name([&](const std::string& name) {
        if (!name.starts_with(prefix)) return true;
        librados::ObjectWriteOperation operation;
        operation.remove();
        batch.write(name, operation);
        return true;
    });
    const int code = batch.wait();
    if (code < 0 && code != -ENOENT) io.failed(code, "cannot remove the pool's objects");
}

// The data pool, if the header's pool has something to remove there; else nullptr. DER_DF_INVAL: what its
// header names there is not its own.
std::unique_ptr<Io> data_to_remove(Io& io, const Header& header)
{
    if (!header.has_data_pool()) return nullptr;
    std::unique_ptr<Io> data;
    try {
        data = std::make_unique<Io>(io, header.data);
    } catch (const Error& error) {
        if (error.code() == -DER_DF_INVAL) return nullptr; // it is gone, and all that was in it
        throw;
    }
    if (is_owner(io, *data, header)) return data;
    data->each_name([&](const std::string& name) {
        if (name.starts_with(header.objects() + ".")) fail_not_owner(io, header);
        return true;
    });
    return nullptr; // its maker died before it wrote anything there
}

// All of the pool but its header. The owner's record goes after what it is about.
void remove_parts(Io& io, Io* data, const Header& header)
{
    if (data != nullptr) {
        remove_objects(*data, header.extents());
        librados::ObjectWriteOperation operation;
        operation.remove();
        const int code = data->write(header.owner_object(), operation, librados::OPERATION_FULL_FORCE).code;
        if (code < 0 && code != -ENOENT) io.failed(code, "cannot remove the record of who owns bulk data");
    }
    remove_objects(io, header.objects() + ".");
}

// The number of the pool that the administrator has named for bulk data; -1: none.
std::int64_t data_pool_of(Io& io)
{
    struct Named {
        librados::IoCtx context;
        std::string name = {};
        std::int64_t number = -1;
    };
    const auto named = std::make_shared<Named>(Named{io.context()});
    const int asked = wait_for([named] {
        if (named->context.application_metadata_get("stepstore", "data_pool", &named->name) < 0) return 0;
        if (!named->name.empty())
            named->number = librados::Rados(named->context).pool_lookup(named->name.c_str());
        return 0;
    });
    if (asked < 0) io.failed(asked, "cannot ask which Ceph pool is for bulk data");
    const std::string& name = named->name;
    const std::int64_t number = named->number;
    if (name.empty()) return -1;
    if (number < 0) {
        throw Error(-DER_NONEXIST,
                    io.where() + ": its Ceph pool names '" + name +
                        "' for bulk data, which the cluster does not have: make it, or remove "
                        "the name with 'ceph osd pool application rm POOL stepstore data_pool'");
    }
    const auto appends_only = std::make_shared<bool>(false);
    const int code = wait_for([context = Io(io, number).context(), appends_only]() mutable {
        return context.pool_requires_alignment2(appends_only.get());
    });
    if (code < 0) io.failed(code, "cannot look at the Ceph pool '" + name + "'");
    if (*appends_only) {
        throw Error(-DER_NOTSUPPORTED, io.where() + ": the erasure-coded Ceph pool '" + name +
                                           "' for bulk data allows no overwrites: allow them with 'ceph osd "
                                           "pool set " +
                                           name + " allow_ec_overwrites true'");
    }
    return number;
}

// False: somebody else changed it meanwhile.
bool remove_pool(Io& io, const Header& header)
{
    const auto data = data_to_remove(io, header);
    Header removing = header;
    removing.state = "removing";
    if (header.state != removing.state && !change_header(io, header, &removing)) return false;
    remove_parts(io, data.get(), header);
    return change_header(io, removing, nullptr);
}

void require_no_strangers(Io& io, const std::string& path)
{
    io.each_name([&](const std::string& name) {
        if (name == header_object || name.starts_with(std::string(header_object) + ".")) return true;
        throw Error(-DER_BUSY, "pool " + path +
                                   ": this namespace of the Ceph pool is used by something else "
                                   "(it has the object '" +
                                   name + "'): choose another namespace, rados://CEPHPOOL/NAMESPACE");
    });
}

// Creates the header in the state `making`. What a dead maker left goes first.
void begin_making(Io& io, const Header& making, const std::string& path)
{
    using namespace std::chrono_literals;
    for (auto patience = std::chrono::steady_clock::now() + 2s;; stop_if_asked("pool " + path)) {
        librados::ObjectWriteOperation operation;
        operation.create(true);
        operation.write_full(to_buffer(making.encoded()));
        const int code = io.write(header_object, operation).code;
        if (code == 0) return;
        if (code != -EEXIST) io.failed(code, "cannot make a pool");
        const auto found = read_header(io);
        if (!found) continue;
        if (found->header.state == "ready")
            throw Error(-DER_EXIST,
                        "there is a pool at " + path + " already: open it, or choose another path");
        // Between its first two steps a living maker does not watch yet.
        const auto now = std::chrono::steady_clock::now();
        const bool at_work = !others_living(io).empty();
        if (at_work && now > patience + 30s) {
            throw Error(-DER_BUSY,
                        "pool " + path + " is being " +
                            (found->header.state == "making" ? "made" : "removed") +
                            " by another process: wait until it has ended, or choose another path");
        }
        if (at_work || now < patience)
            std::this_thread::sleep_for(20ms);
        else
            remove_pool(io, found->header);
    }
}

void make_owner_record(Io& io, const Header& header)
{
    if (!header.has_data_pool()) return;
    Io data(io, header.data);
    librados::ObjectWriteOperation operation;
    operation.create(true);
    operation.write_full(to_buffer(owner_record(io)));
    const int code = data.write(header.owner_object(), operation).code;
    if (code < 0)
        io.failed(code, "cannot write to the Ceph pool number " + std::to_string(header.data) +
                            ", which is for bulk data");
}

void make_indexes(Io& io, const Header& header)
{
    Io::Batch batch(io);
    const auto make = [&](const std::string& name) {
        librados::ObjectWriteOperation operation;
        operation.create(true);
        operation.omap_set({{limit_key, to_buffer(ordered(0))}});
        batch.write(name, operation);
    };
    for (unsigned index = 0; index < header.targets; ++index)
        make(header.objects() + ".t." + std::to_string(index));
    make(header.objects() + ".m");
    const int code = batch.wait();
    if (code < 0) io.failed(code, "cannot make the indexes of a pool");
}

// Under the lock.
std::unique_ptr<Storage> make(const std::string& path, const NewPool& options)
{
    auto io = connect_to(path);
    require_no_strangers(*io, path);
    const Header header{random_id(), options.targets, options.durability, "making", data_pool_of(*io)};
    begin_making(*io, header, path);
    Io& connection = *io;
    try {
        auto watch = std::make_unique<Watch>(connection);
        make_owner_record(connection, header);
        make_indexes(connection, header);
        Header ready = header;
        ready.state = "ready";
        auto pool = std::make_shared<RadosPool>(std::move(io), ready);
        auto storage = std::make_unique<RadosStorage>(path, pool, true);
        if (options.fill) options.fill(*storage);
        if (!change_header(connection, header, &ready))
            throw Error(-DER_EXIST, "pool " + path + " was made by another process meanwhile: open it");
        pool->claim();
        share(path, pool);
        return storage;
    } catch (...) {
        try { // not if it is ready: the change of its header may be in doubt, and what it names stays
            remove_pool(*connect_to(path), header);
        } catch (const Error&) { // the next maker removes what is left
        }
        throw;
    }
}

void with_lock(FunctionRef<void()> body)
{
    ask_during([&] {
        const std::lock_guard lock(host().held_over_fork(ForkLock::reopening));
        const NotAsked not_asked;
        body();
    });
}

} // namespace

std::unique_ptr<Storage> create(const std::string& path, const NewPool& options)
{
    if (options.targets == 0 || options.targets > 256)
        throw Error(-DER_INVAL, "pool " + path + ": " + std::to_string(options.targets) +
                                    " targets: 1 to 256 are possible");
    if (!options.target_directories.empty())
        throw Error(-DER_NOTSUPPORTED, "pool " + path +
                                           ": its targets do not lie in directories: leave out the targets' "
                                           "directories");
    std::unique_ptr<Storage> storage;
    with_lock([&] { storage = make(path, options); }); // makers of one process take turns
    return storage;
}

std::unique_ptr<Storage> open(const std::string& path)
{
    std::unique_ptr<Storage> storage;
    with_lock([&] { storage = std::make_unique<RadosStorage>(path, open_shared(path), false); });
    return storage;
}

void destroy(const std::string& path)
{
    with_lock([&] {
        const auto io = connect_to(path);
        const auto found = read_header(*io);
        if (!found) throw Error(-DER_NONEXIST, "there is no pool at " + path + " to destroy");
        const std::set<std::uint64_t> others = others_living(*io);
        if (!others.empty()) {
            throw Error(-DER_BUSY, "pool " + path + ": " + std::to_string(others.size()) +
                                       " other processes have it open for updates, or died in the last 10 "
                                       "seconds: end them, or try again then");
        }
        if (!remove_pool(*io, found->header))
            throw Error(-DER_BUSY, "pool " + path + " is being destroyed by another process");
    });
}

Found look(const std::string& path)
{
    if (!ceph_place(path)) return Found::nothing;
    try {
        const auto found = read_header(*connect_to(path));
        if (!found) return Found::nothing;
        return found->header.state == "ready" ? Found::pool : Found::unfinished;
    } catch (const Error& error) {
        return error.code() == -DER_DF_INVAL || error.code() == -DER_DF_INCOMPT ? Found::pool
                                                                                : Found::nothing;
    }
}

} // namespace stepstore::store::rados

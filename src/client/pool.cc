// Pools: making, connecting to and destroying them, by the calls of the library that their location needs.
#include "base/text.h"
#include "client/state.h"
#include "stepstore/admin.h"
#include "stepstore/administration.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <filesystem>
#include <utility>

namespace stepstore {
namespace {

std::shared_ptr<const Library> unowned(const Library& library)
{
    return {std::shared_ptr<const Library>(), &library};
}

const Library& library_of(const LocationForm& form)
{
    return form.capabilities.own_store ? Library::ours() : Library::system();
}

[[noreturn]] void refuse(const char* what, const std::string& location, const char* command)
{
    throw Error(-DER_NOSYS,
                std::string(what) + " pool " + location +
                    ": pools of a DAOS system are made and destroyed by its administrator: " + command);
}

// A path says nothing of the kind of its pool. One in files gets the form that says what such pools can do.
std::string with_form(const LocationParts& parts, const std::string& location)
{
    if (!parts.is_path() || !parts.form.scheme.empty()) return location;
    std::error_code ignored;
    const std::string directory = parts.after_local ? pool_path(location) : parts.path;
    return std::filesystem::exists(directory + "/" + files_header, ignored)
               ? std::string(shared_form.scheme) + directory
               : location;
}

} // namespace

LibraryInit::LibraryInit(std::shared_ptr<const Library> library) : library_(std::move(library))
{
    check(*library_, library_->init(), [&] { return "start the library " + library_->name; });
}

LibraryInit::~LibraryInit()
{
    library_->fini();
}

Pool::State::State(std::shared_ptr<const Library> library, const std::string& pool, std::string where,
                   Access access)
    : initialised(std::move(library)), location(std::move(where)), connected(pool), access(access)
{
    const unsigned flags = access == Access::read_only ? DAOS_PC_RO : DAOS_PC_RW;
    const int rc =
        this->library().pool_connect(c_text(pool, "pool"), nullptr, flags, &handle, nullptr, nullptr);
    check(this->library(), rc, [&] { return "connect to pool " + location; });
}

Pool::State::State(std::shared_ptr<const Library> library, std::string where, Bytes global)
    : initialised(std::move(library)), location(std::move(where))
{
    check(this->library(), this->library().pool_global2local(global_iov(global), &handle),
          [&] { return "open pool " + location + " with the handle of another process"; });
}

Pool::State::~State()
{
    library().pool_disconnect(handle, nullptr);
}

Pool::Pool() = default;
Pool::~Pool() = default;
Pool::Pool(Pool&&) noexcept = default;
Pool& Pool::operator=(Pool&&) noexcept = default;

Pool Pool::connect(const std::string& location, Access access)
{
    const LocationParts parts = parse_location(location);
    std::string name = location;
    if (!parts.form.capabilities.own_store)
        name = without_empty_parts(parts.names.front() + "/" + parts.rest);
    // For daos_pool_connect a bare name is a label, for our users a path.
    else if (!name.empty() && name.find('/') == std::string::npos && !parts.after_local &&
             parts.form.scheme.empty())
        name.insert(0, "./");
    const Library& library = library_of(parts.form);
    Pool pool;
    pool.state_ = std::make_shared<State>(unowned(library), name, with_form(parts, location), access);
    return pool;
}

std::vector<std::byte> Pool::to_global() const
{
    return global_handle(
        library(), [&](d_iov_t* into) { return library().pool_local2global(state_->handle, into); },
        "make the handle of pool " + location() + " global");
}

Pool Pool::from_global(const std::string& location, Bytes global)
{
    const Library& library = library_of(form_of(location));
    Pool pool;
    pool.state_ = std::make_shared<State>(unowned(library), location, global);
    return pool;
}

Container Pool::container_from_global(const std::string& label, Bytes global) const
{
    Container container;
    container.state_ = std::make_shared<Container::State>(state_, label, global);
    return container;
}

Pool Pool::connect(const Library& library, const std::string& location, Access access)
{
    Pool pool;
    pool.state_ =
        std::make_shared<State>(std::make_shared<const Library>(library), location, location, access);
    return pool;
}

void Pool::create(const std::string& location, const PoolOptions& options)
{
    if (!capabilities_of(location).own_store) refuse("create", location, "dmg pool create");
    const Library& library = Library::ours();
    stepstore_pool_options wanted{};
    wanted.label = options.label.empty() ? nullptr : c_text(options.label, "label");
    wanted.targets = options.targets;
    wanted.power = options.durability == Durability::power ? 1 : 0;
    std::vector<const char*> directories;
    for (const std::string& directory : options.target_directories)
        directories.push_back(c_text(directory, "directory for targets"));
    wanted.target_dirs = directories.data();
    wanted.target_dirs_nr = static_cast<std::uint32_t>(directories.size());
    check(library, library.pool_create(c_text(location, "pool"), &wanted),
          [&] { return "create pool " + location; });
}

void Pool::destroy(const std::string& location)
{
    if (!capabilities_of(location).own_store) refuse("destroy", location, "dmg pool destroy");
    const Library& library = Library::ours();
    check(library, library.pool_destroy(c_text(location, "pool")),
          [&] { return "destroy pool " + location; });
}

Pool Pool::connect_or_create(const std::string& location, const PoolOptions& options)
{
    try {
        return connect(location, Access::read_write);
    } catch (const Error& error) {
        if (error.code() != -DER_NONEXIST || !capabilities_of(location).own_store) throw;
    }
    const std::string path = parse_location(location).path; // empty: on a network
    if (const std::size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0) {
        std::error_code ignored; // create() says what is wrong
        std::filesystem::create_directories(path.substr(0, slash), ignored);
    }
    std::exception_ptr exists;
    try {
        create(location, options);
    } catch (const Error& error) {
        if (error.code() != -DER_EXIST) throw;
        exists = std::current_exception();
    }
    try {
        return connect(location, Access::read_write);
    } catch (const Error& error) {
        // What exists is no pool: create() has said what it is.
        if (error.code() == -DER_NONEXIST && exists) std::rethrow_exception(exists);
        throw;
    }
}

const std::string& Pool::location() const
{
    return state_->location;
}
const Library& Pool::library() const
{
    return state_->library();
}

Container Pool::create_container(const std::string& label) const
{
    const Library& library = state_->library();
    const int rc =
        library.cont_create_with_label(state_->handle, c_text(label, "container"), nullptr, nullptr, nullptr);
    check(library, rc,
          [&] { return "create container " + stepstore::quoted(label) + " in pool " + state_->location; });
    return open_container(label);
}

Container Pool::open_container(const std::string& label, Access access) const
{
    Container container;
    container.state_ = std::make_shared<Container::State>(state_, label, access);
    return container;
}

Container Pool::open_or_create_container(const std::string& label) const
{
    // Another process may create or destroy it between the two attempts; some rounds settle who was first.
    for (int round = 0;; ++round) {
        try {
            return open_container(label);
        } catch (const Error& error) {
            const bool missing = error.code() == -DER_NONEXIST || error.code() == -DER_CONT_NONEXIST;
            if (!missing || round == 8) throw;
        }
        const int rc = state_->library().cont_create_with_label(state_->handle, label.c_str(), nullptr,
                                                                nullptr, nullptr);
        if (rc != 0 && rc != -DER_EXIST)
            fail(state_->library(), rc,
                 "create container " + stepstore::quoted(label) + " in pool " + state_->location);
    }
}

void Pool::destroy_container(const std::string& label, bool force) const
{
    const int rc =
        state_->library().cont_destroy(state_->handle, c_text(label, "container"), force ? 1 : 0, nullptr);
    check(state_->library(), rc,
          [&] { return "destroy container " + stepstore::quoted(label) + " in pool " + state_->location; });
}

unsigned Pool::targets() const
{
    daos_pool_info_t info{};
    check(state_->library(), state_->library().pool_query(state_->handle, nullptr, &info, nullptr, nullptr),
          [&] { return "ask pool " + state_->location + " for its targets"; });
    return info.pi_ntargets - std::min(info.pi_ndisabled, info.pi_ntargets);
}

std::vector<ContainerEntry> Pool::containers() const
{
    std::vector<daos_pool_cont_info> infos;
    for (;;) {
        daos_size_t count = infos.size();
        const int rc = state_->library().pool_list_cont(state_->handle, &count,
                                                        infos.empty() ? nullptr : infos.data(), nullptr);
        if (rc != 0 && rc != -DER_TRUNC)
            fail(state_->library(), rc, "list the containers of pool " + state_->location);
        if (rc == 0 && count <= infos.size()) {
            infos.resize(count);
            break;
        }
        infos.resize(count + 8); // some more may come meanwhile
    }
    std::vector<ContainerEntry> entries;
    entries.reserve(infos.size());
    for (const auto& info : infos) {
        const std::string_view label(info.pci_label, strnlen(info.pci_label, sizeof info.pci_label));
        entries.push_back({uuid_text(info.pci_uuid), std::string(label)});
    }
    return entries;
}

EventQueue Pool::event_queue() const
{
    return EventQueue(std::make_shared<EventQueue::State>(state_));
}

void Pool::sync() const
{
    const Library& library = state_->library();
    if (!library.pool_sync) return; // a DAOS system acknowledges only what is durable
    check(library, library.pool_sync(state_->handle), [&] { return "sync pool " + state_->location; });
}

void Pool::sync_own() const
{
    const Library& library = state_->library();
    if (!library.pool_sync_own) return sync();
    check(library, library.pool_sync_own(state_->handle), [&] { return "sync pool " + state_->location; });
}

} // namespace stepstore

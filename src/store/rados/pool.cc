#include "store/rados/pool.h"

#include "stepstore/error.h"

#include <daos_errno.h>

#include <cerrno>
#include <charconv>
#include <sstream>

namespace stepstore::store::rados {

namespace {

constexpr char magic[] = "STEPSTORE-RADOS";
constexpr unsigned format_version = 3; // 1 if there is no data pool

bool is_hexadecimal(const std::string& text)
{
    return text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// -1: it is none.
std::int64_t number_of(const std::string& text)
{
    std::int64_t number = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

// nullptr: its own.
std::unique_ptr<Io> open_data_pool(Io& io, const Header& header)
{
    if (!header.has_data_pool()) return nullptr;
    auto data = std::make_unique<Io>(io, header.data);
    if (!is_owner(io, *data, header)) fail_not_owner(io, header);
    return data;
}

} // namespace

std::string Header::encoded() const
{
    return std::string(magic) + (has_data_pool() ? " 3" : " 1") + "\nid " + id + "\ntargets " +
           std::to_string(targets) + "\ndurability " +
           (durability == Durability::power ? "power" : "process") + "\nstate " + state + "\n" +
           (has_data_pool() ? "data " + std::to_string(data) + "\n" : "");
}

Header Header::decode(const std::string& text, const std::string& where)
{
    const auto unknown = [&] {
        throw Error(-DER_DF_INVAL, where + ": the object '" + header_object +
                                       "' is not the header of a pool: the namespace is used by something "
                                       "else, or the header is damaged");
    };
    std::istringstream lines(text);
    std::string name, value;
    Header header;
    unsigned format = 0;
    std::int64_t targets = 0;
    if (!(lines >> name >> format) || name != magic) unknown();
    if (format > format_version) {
        throw Error(-DER_DF_INCOMPT, where + " has format version " + std::to_string(format) +
                                         ", and this program reads version " +
                                         std::to_string(format_version) +
                                         ": use the newer Stepstore that made it");
    }
    while (lines >> name >> value) {
        if (name == "id") header.id = value;
        if (name == "targets") targets = number_of(value);
        if (name == "durability")
            header.durability = value == "power" ? Durability::power : Durability::process;
        if (name == "state") header.state = value;
        if (name == "data") {
            header.data = number_of(value);
            if (!header.has_data_pool()) unknown();
        }
    }
    if (header.id.size() != 16 || !is_hexadecimal(header.id) || targets < 1 || targets > 256 ||
        header.state.empty())
        unknown();
    header.targets = static_cast<unsigned>(targets);
    return header;
}

std::string owner_record(Io& io)
{
    return "STEPSTORE-DATA 1\npool " + std::to_string(io.context().get_id()) + "\n";
}

bool is_owner(Io& io, Io& data, const Header& header)
{
    Buffer bytes;
    int result = 0;
    librados::ObjectReadOperation operation;
    operation.read(0, 4096, &bytes, &result);
    const int code = data.read(header.owner_object(), operation).code;
    if (code == -ENOENT) return false;
    if (code < 0) {
        io.failed(code, "cannot read who owns the bulk data in the Ceph pool number " +
                            std::to_string(header.data));
    }
    return to_string(bytes) == owner_record(io);
}

void fail_not_owner(Io& io, const Header& header)
{
    throw Error(-DER_DF_INVAL,
                io.where() + ": its header says that its bulk data are in the Ceph pool number " +
                    std::to_string(header.data) + ", but that pool does not say so (object '" +
                    header.owner_object() + "'). Somebody may have forged the header: nothing was changed. " +
                    "If they are this pool's, write the object as docs/format.md has it. Else remove the "
                    "object '" +
                    header_object + "' of this namespace");
}

std::optional<FoundHeader> read_header(Io& io)
{
    Buffer bytes;
    int result = 0;
    librados::ObjectReadOperation operation;
    operation.read(0, 4096, &bytes, &result);
    const Io::Result read = io.read(header_object, operation);
    if (read.code == -ENOENT) return std::nullopt;
    if (read.code < 0) io.failed(read.code, "cannot read the pool's header");
    return FoundHeader{Header::decode(to_string(bytes), io.where()), read.version};
}

std::set<std::uint64_t> living(Io& io)
{
    std::list<obj_watch_t> watchers;
    int result = 0;
    librados::ObjectReadOperation operation;
    operation.list_watchers(&watchers, &result);
    const int code = io.read(header_object, operation).code;
    if (code < 0 && code != -ENOENT) io.failed(code, "cannot see who uses the pool");
    std::set<std::uint64_t> all;
    for (const obj_watch_t& one : watchers)
        all.insert(static_cast<std::uint64_t>(one.watcher_id));
    return all;
}

std::set<std::uint64_t> others_living(Io& io)
{
    std::set<std::uint64_t> all = living(io);
    all.erase(io.instance());
    if (all.empty()) return all;
    std::set<std::uint64_t> served;
    const int code = io.served_watchers(header_object, served);
    if (code < 0 && code != -ENOENT) io.failed(code, "cannot see who uses the pool");
    std::erase_if(all, [&](std::uint64_t one) { return !served.contains(one); });
    return all;
}

void Watch::Watcher::handle_notify(std::uint64_t notify, std::uint64_t handle, std::uint64_t, Buffer&)
{
    const Use here;
    Buffer nothing;
    if (!here.refused()) context.notify_ack(header_object, notify, handle, nothing);
}

Watch::Watch(Io& io) : io_(io), watcher_(std::make_shared<Watcher>(io.context()))
{
    const int code = io.watch(header_object, watcher_, handle_);
    if (code == -ENOENT)
        throw Error(-DER_STALE, io.where() + ": the pool was removed while it was open: open it again");
    if (code < 0) io.failed(code, "cannot take the pool into use for updates");
}

bool Watch::lost() const
{
    // The time since the cluster last heard of the process, in milliseconds.
    const int silent = io_.context().watch_check(handle_);
    return watcher_->lost || silent < 0 || silent >= static_cast<int>(1000 * Io::watch_timeout);
}

Watch::~Watch()
{
    io_.end_watch(handle_, watcher_);
}

RadosPool::RadosPool(std::unique_ptr<Io> io, Header header)
    : io_(std::move(io)), header_(std::move(header)), data_(open_data_pool(*io_, header_))
{
    const std::string objects = header_.objects();
    Io& data = data_ ? *data_ : *io_;
    meta_index_ = std::make_unique<Index>(*io_, objects + ".m", io_->where() + ", pool metadata");
    client_ = std::make_unique<Client>(*meta_index_, [this] { return watched_anew(); });
    for (unsigned index = 0; index < header_.targets; ++index) {
        const std::string number = std::to_string(index);
        targets_.push_back(std::make_unique<RadosTarget>(*io_, data, objects, index, objects + ".t." + number,
                                                         io_->where() + ", target " + number, *client_));
    }
    targets_.push_back(std::make_unique<RadosTarget>(*io_, data, objects, header_.targets, objects + ".m",
                                                     io_->where() + ", pool metadata", *client_));
}

RadosPool::~RadosPool()
{
    // A program that ends because the cluster does not answer need not wait for it once more.
    if (is_silent()) return;
    io_->flush();
    if (data_) data_->flush();
    if (!watch_) return;
    try {
        bool all = true;
        for (const auto& target : targets_)
            all = target->close() && all;
        if (all) client_->forget();
    } catch (const Error&) { // the next process that opens the pool cleans up
    }
    watch_.reset();
}

void RadosPool::claim()
{
    const std::lock_guard lock(claiming_);
    if (watch_ && !watch_->lost()) return;
    watch_ = std::make_unique<Watch>(*io_); // if that fails, a lost one stays, and counts as such
    clean_up();
}

bool RadosPool::watched_anew()
{
    const std::lock_guard lock(claiming_);
    if (!watch_ || !watch_->lost()) return false;
    watch_ = std::make_unique<Watch>(*io_);
    return true;
}

// After clients whose connection is gone.
void RadosPool::clean_up()
{
    std::map<std::string, Buffer> clients;
    int code = 0;
    bool more = false;
    librados::ObjectReadOperation operation;
    operation.assert_exists();
    operation.omap_get_vals2("", std::string(1, client_space), 1024, &clients, &more, &code);
    const int result = io_->read(meta_index_->object, operation).code;
    if (result < 0) meta_index_->failed(result, "cannot read the index");
    if (clients.empty()) return;
    const std::set<std::uint64_t> alive = living(*io_);
    std::set<std::uint64_t> dead;
    for (const auto& [key, value] : clients)
        if (!alive.contains(from_big(to_string(value)))) dead.insert(from_big(key.substr(1)));
    if (dead.empty()) return;
    for (const auto& target : targets_)
        target->clean_up(dead);
    librados::ObjectWriteOperation remove;
    remove.assert_exists();
    std::set<std::string> keys;
    for (const std::uint64_t client : dead)
        keys.insert(std::string(1, client_space) + big(client, 4));
    remove.omap_rm_keys(keys);
    io_->write(meta_index_->object, remove);
}

} // namespace stepstore::store::rados

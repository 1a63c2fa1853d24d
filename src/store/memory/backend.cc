// The reference back end: pools that live in this process, found by path in a registry of the process, gone
// with it. It shows what store/backend.h asks for in the plainest way, and is the other side of the contract
// tests.
//
// 1. A target is a pointer to the root of a persistent tree (tree.h). A read takes the root as it is and
//    looks at nothing else: it sees one committed state and waits for nobody.
// 2. A write holds the target's writer lock, changes a root of its own and publishes it when the body has
//    returned. An exception throws the root away.
// 3. Bulk extents are byte vectors in a map by number, one "file" each. A released one is dropped; a reader
//    that still copies from it holds a reference of its own.
#include "base/clock.h"
#include "stepstore/error.h"
#include "store/builtin.h"
#include "store/memory/tree.h"

#include <daos_errno.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <unistd.h>

namespace stepstore::store::memory {

namespace {

// ---- transactions

class Transaction final : public WriteTransaction {
public:
    explicit Transaction(Tree root, const std::string* name) : root_(std::move(root)), name_(name) {}
    const Tree& root() const { return root_; }

    bool get(Bytes key, Bytes& value) override
    {
        const Node* node = find(root_, key);
        if (node == nullptr) return false;
        value = *node->value;
        return true;
    }
    bool seek(Bytes key, Entry& entry) override { return move_to(after(root_, key, true), entry); }
    bool seek_last(Bytes key, Entry& entry) override { return move_to(before(root_, key), entry); }
    bool next(Entry& entry) override { return placed_ && move_to(after(root_, position_, false), entry); }
    bool previous(Entry& entry) override { return placed_ && move_to(before(root_, position_), entry); }

    void put(Bytes key, Bytes value) override
    {
        store(key, std::make_shared<std::vector<std::byte>>(value.begin(), value.end()));
    }
    MutableBytes reserve(Bytes key, std::size_t length) override
    {
        auto value = std::make_shared<std::vector<std::byte>>(length);
        const MutableBytes bytes = *value;
        store(key, std::move(value));
        return bytes;
    }
    bool erase(Bytes key) override
    {
        Tree changed = memory::erase(root_, key);
        if (changed == root_) return false;
        root_ = std::move(changed);
        return true;
    }
    const Capabilities& capabilities() const override { return path_form.capabilities; }
    std::uint64_t version() const override { return 0; }
    ExtentRef value_extent() const override { return {}; }
    NetworkTransaction* network() override { return nullptr; }

private:
    void store(Bytes key, Value value)
    {
        if (key.empty() || key.size() > max_key) {
            throw Error(-DER_INVAL, *name_ + ": a key of " + std::to_string(key.size()) +
                                        " bytes: give 1 to " + std::to_string(max_key) + " bytes");
        }
        root_ = insert(root_, key, std::move(value));
    }
    bool move_to(const Node* node, Entry& entry)
    {
        if (node == nullptr) return false;
        position_.assign(node->key.begin(), node->key.end());
        placed_ = true;
        entry = {node->key, *node->value};
        return true;
    }

    Tree root_;
    const std::string* name_;
    std::vector<std::byte> position_; // the key last given
    bool placed_ = false;
};

// ---- what all who opened a pool share

class MemoryTarget final : public Target {
public:
    explicit MemoryTarget(std::string name) : name_(std::move(name)) {}

    void read(FunctionRef<void(ReadTransaction&)> body) override
    {
        Transaction transaction(root(), &name_);
        body(transaction);
    }
    void open_to_write() override {}
    void write(FunctionRef<void(WriteTransaction&)> body) override
    {
        std::lock_guard lock(writer_);
        Transaction transaction(root(), &name_);
        body(transaction);
        std::lock_guard publishing(root_guard_);
        root_ = transaction.root();
    }
    ExtentRef append(std::span<Payload> payloads) override
    {
        auto bytes = std::make_shared<std::vector<std::byte>>();
        for (Payload& payload : payloads) {
            payload.extent = {0, bytes->size(), 0};
            for (const Bytes& piece : payload.pieces)
                bytes->insert(bytes->end(), piece.begin(), piece.end());
            payload.extent.length = bytes->size() - payload.extent.offset;
            bytes->resize(reservation_of({0, 0, bytes->size()}).length);
        }
        if (bytes->empty()) return {};
        std::lock_guard lock(extents_guard_);
        const std::uint64_t file = next_file_++;
        for (Payload& payload : payloads)
            payload.extent.file = file;
        const ExtentRef all{file, 0, bytes->size()};
        extents_.emplace(file, std::move(bytes));
        return all;
    }
    void entering(const ExtentRef&) override {} // what this process leaves ends with it
    void leaving(const ExtentRef&) override {}
    void read_extent(const ExtentRef& extent, std::uint64_t skip, MutableBytes into) override
    {
        std::shared_ptr<const std::vector<std::byte>> bytes;
        {
            std::shared_lock lock(extents_guard_);
            if (const auto found = extents_.find(extent.file); found != extents_.end()) bytes = found->second;
        }
        const std::uint64_t there = bytes ? bytes->size() : 0;
        if (skip > extent.length || into.size() > extent.length - skip || extent.offset > there ||
            skip > there - extent.offset || into.size() > there - extent.offset - skip) {
            throw Error(-DER_CSUM, name_ + ": extent file " + std::to_string(extent.file) + " holds " +
                                       std::to_string(there) + " bytes, less than the extent to read");
        }
        if (!into.empty()) std::memcpy(into.data(), bytes->data() + extent.offset + skip, into.size());
    }
    // A file goes when all of it was released; until then it is noted by units.
    void release(const ExtentRef& extent) override
    {
        std::lock_guard lock(extents_guard_);
        const auto found = extents_.find(extent.file);
        if (found == extents_.end()) return;
        std::vector<bool>& released = released_[extent.file];
        released.resize(found->second->size() / extent_unit);
        const ExtentRef reservation = reservation_of(extent);
        const std::size_t end =
            std::min((reservation.offset + reservation.length) / extent_unit, released.size());
        for (std::size_t unit = reservation.offset / extent_unit; unit < end; ++unit)
            released[unit] = true;
        if (std::ranges::find(released, false) != released.end()) return;
        extents_.erase(found);
        released_.erase(extent.file);
    }
    std::vector<ExtentFile> extent_files() override
    {
        std::shared_lock lock(extents_guard_);
        std::vector<ExtentFile> files;
        for (const auto& [file, bytes] : extents_) {
            files.push_back({file, bytes->size(), taken({file, 0, bytes->size()}), false});
        }
        return files;
    }
    std::uint64_t allocated(const ExtentRef& range) override
    {
        std::shared_lock lock(extents_guard_);
        return taken(range);
    }
    std::size_t fills_pages(std::size_t size) const override { return size; }
    bool begin_sync(bool) override { return false; }
    void sync(bool) override {} // memory has no power failure to survive
    void compact() override {}
    Usage usage() override
    {
        Usage usage;
        read([&](ReadTransaction& transaction) {
            Entry entry;
            for (bool more = transaction.seek({}, entry); more; more = transaction.next(entry))
                usage.index += entry.key.size() + entry.value.size();
        });
        for (const auto& file : extent_files())
            usage.bulk += file.allocated;
        return usage;
    }
    std::vector<std::string> check() override { return {}; }
    void count(const Counters& added) override
    {
        updates_.fetch_add(added.updates, std::memory_order_relaxed);
        fetches_.fetch_add(added.fetches, std::memory_order_relaxed);
        bytes_written_.fetch_add(added.bytes_written, std::memory_order_relaxed);
        bytes_read_.fetch_add(added.bytes_read, std::memory_order_relaxed);
    }
    Counters counters() override
    {
        return {updates_.load(std::memory_order_relaxed), fetches_.load(std::memory_order_relaxed),
                bytes_written_.load(std::memory_order_relaxed), bytes_read_.load(std::memory_order_relaxed)};
    }
    NetworkTarget* network() override { return nullptr; }

private:
    // Bytes of a range that were not released. With extents_guard_.
    std::uint64_t taken(const ExtentRef& range) const
    {
        const auto file = extents_.find(range.file);
        if (file == extents_.end()) return 0;
        const auto found = released_.find(range.file);
        const ExtentRef reservation = reservation_of(range);
        const std::uint64_t end =
            std::min<std::uint64_t>(reservation.offset + reservation.length, file->second->size());
        std::uint64_t sum = 0;
        for (std::uint64_t at = reservation.offset; at < end; at += extent_unit)
            if (found == released_.end() || !found->second[at / extent_unit]) sum += extent_unit;
        return sum;
    }
    Tree root()
    {
        std::lock_guard lock(root_guard_);
        return root_;
    }

    const std::string name_; // "memory pool PATH, target N"
    std::mutex writer_;      // held by the one writer
    std::mutex root_guard_;  // guards root_; held only to copy the pointer
    Tree root_;
    std::shared_mutex extents_guard_; // guards extents_, released_, next_file_
    std::map<std::uint64_t, std::shared_ptr<const std::vector<std::byte>>> extents_;
    std::map<std::uint64_t, std::vector<bool>> released_; // units, of the files of which a part was released
    std::uint64_t next_file_ = 1;
    std::atomic<std::uint64_t> updates_{0}, fetches_{0}, bytes_written_{0}, bytes_read_{0};
};

struct PoolState {
    std::string path;
    Durability durability = Durability::process;
    std::deque<MemoryTarget> targets; // meta last
    std::atomic<Epoch> clock{0};
};

std::mutex pools_guard; // guards pools()

std::map<std::string, std::shared_ptr<PoolState>>& pools()
{
    static std::map<std::string, std::shared_ptr<PoolState>> all;
    return all;
}

class MemoryStorage final : public Storage {
public:
    explicit MemoryStorage(std::shared_ptr<PoolState> pool)
        : Storage({pool->path, static_cast<unsigned>(pool->targets.size() - 1), pool->durability,
                   path_form.capabilities}),
          pool_(std::move(pool))
    {
    }
    Target& target(unsigned index) override { return pool_->targets[index]; }
    Target& meta() override { return pool_->targets.back(); }
    bool is_current() override { return true; }
    void claim() override {}

    Epoch next_epoch() override
    {
        const Epoch now = nanoseconds(CLOCK_REALTIME);
        Epoch last = pool_->clock.load();
        Epoch next;
        do
            next = std::max(now, last + 1);
        while (!pool_->clock.compare_exchange_weak(last, next));
        return next;
    }
    Space space() override
    {
        const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
        return {page * static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)),
                page * static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES))};
    }

private:
    const std::shared_ptr<PoolState> pool_;
};

std::unique_ptr<Storage> create(const std::string& path, const NewPool& options)
{
    if (options.targets == 0)
        throw Error(-DER_INVAL, "memory pool " + path + ": a pool needs at least one target");
    if (!options.target_directories.empty())
        throw Error(-DER_NOTSUPPORTED, "memory pool " + path +
                                           ": its targets do not lie in directories: leave out the targets' "
                                           "directories");
    auto pool = std::make_shared<PoolState>();
    pool->path = path;
    pool->durability = options.durability;
    for (unsigned index = 0; index < options.targets; ++index)
        pool->targets.emplace_back("memory pool " + path + ", target " + std::to_string(index));
    pool->targets.emplace_back("memory pool " + path + ", pool metadata");
    auto storage = std::make_unique<MemoryStorage>(pool);
    if (options.fill) options.fill(*storage);
    std::lock_guard lock(pools_guard);
    if (!pools().emplace(path, pool).second)
        throw Error(-DER_EXIST, "memory pool " + path + " exists already: open it, or choose another path");
    return storage;
}

std::unique_ptr<Storage> open(const std::string& path)
{
    std::lock_guard lock(pools_guard);
    const auto found = pools().find(path);
    if (found == pools().end())
        throw Error(-DER_NONEXIST, "there is no memory pool " + path + " in this process: create it first");
    return std::make_unique<MemoryStorage>(found->second);
}

void destroy(const std::string& path)
{
    std::lock_guard lock(pools_guard);
    if (pools().erase(path) == 0)
        throw Error(-DER_NONEXIST, "there is no memory pool " + path + " to destroy");
}

Found look(const std::string& path)
{
    std::lock_guard lock(pools_guard);
    return pools().contains(path) ? Found::pool : Found::nothing;
}

} // namespace

Backend backend()
{
    return {"memory", create, open, destroy, look};
}

} // namespace stepstore::store::memory

#include "store/lmdb/sharing/shared_state.h"

#include "base/checksum.h"
#include "base/clock.h"
#include "base/files.h"
#include "store/lmdb/sharing/errors.h"

#include <daos_errno.h>

#include <algorithm>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

namespace stepstore::store::lmdb {

namespace {

constexpr char shared_magic[8] = {'S', 'T', 'S', 'H', 'A', 'R', 'E', '2'};
// Of the counters of a target. So the file of a pool of 4 targets is one page.
constexpr unsigned stripes = 12;
constexpr Epoch ceiling_step = 10'000'000'000; // ns

using Word = std::atomic<std::uint64_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == 8, "the words are shared between processes");

// Differs from boot to boot; 0 where the system does not tell.
std::uint64_t boot_id()
{
    const Descriptor fd = open_file(std::string("/proc/sys/kernel/random/boot_id"), O_RDONLY);
    const std::string text = fd ? read_text(fd.get()).value_or("") : "";
    return text.empty() ? 0 : checksum(as_bytes(text));
}

} // namespace

struct SharedState::Header {
    char magic[8];
    Word targets;
    alignas(64) Word clock;   // the last epoch given
    alignas(64) Word ceiling; // no epoch above it was given before it was synced
    Word synced;              // the ceiling that is known to be on the disk
    Word boot;
};

// What the processes on some of the machine's processors counted on one target. Any number of readers may
// work at once, so none writes to a line that others write to at the same time.
struct alignas(64) SharedState::CounterLine {
    Word updates;
    Word fetches;
    Word bytes_written;
    Word bytes_read;
};

std::size_t SharedState::length_for(unsigned targets)
{
    return sizeof(Header) + (std::size_t{targets} + 1) * stripes * sizeof(CounterLine);
}

void SharedState::create(const RootedPath& path, unsigned targets)
{
    const std::size_t length = length_for(targets);
    std::vector<std::byte> bytes(length);
    Header first{};
    std::memcpy(first.magic, shared_magic, sizeof shared_magic);
    first.targets = targets;
    std::memcpy(bytes.data(), static_cast<const void*>(&first), sizeof first);
    make_file(path, bytes);
}

SharedState::SharedState(const RootedPath& path, unsigned targets, bool durable)
    : path_(path), durable_(durable), length_(length_for(targets))
{
    Descriptor fd = open_file(path, O_RDWR);
    writable_ = static_cast<bool>(fd);
    if (!fd && (errno == EACCES || errno == EPERM || errno == EROFS)) fd = open_file(path, O_RDONLY);
    if (!fd && errno == ENOENT)
        throw Error(-DER_DF_INVAL, path + " is missing, and the pool damaged: put the file back from a copy");
    if (!fd) fail_errno(path, "cannot open the file" + owner_of(path));
    if (const std::uint64_t size = size_of(fd.get(), path); size != length_) {
        throw Error(-DER_DF_INVAL, path + " has " + std::to_string(size) + " bytes instead of " +
                                       std::to_string(length_) +
                                       ": the pool's clock is damaged; put the file back from a copy");
    }
    void* map =
        mmap(nullptr, length_, writable_ ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd.get(), 0);
    if (map == MAP_FAILED) fail_errno(path, "cannot map the file");
    header_ = static_cast<Header*>(map);
    lines_ = reinterpret_cast<CounterLine*>(static_cast<std::byte*>(map) + sizeof(Header));
    if (std::memcmp(header_->magic, shared_magic, sizeof shared_magic) != 0 ||
        header_->targets.load() != targets) {
        munmap(map, length_);
        throw Error(-DER_DF_INVAL, path + " is damaged: it does not begin as the clock of a pool of " +
                                       std::to_string(targets) + " targets");
    }
}

SharedState::~SharedState()
{
    munmap(header_, length_);
}

// The first process after a boot cannot know what the last one before it gave:
// no more than the ceiling, if it was kept.
void SharedState::start_clock()
{
    const std::uint64_t boot = boot_id();
    if (header_->boot.load() != boot || boot == 0) {
        raise_to(header_->clock, header_->ceiling.load());
        header_->boot.store(boot);
    }
    started_.store(true, std::memory_order_release);
}

// Puts the bound above `epoch` on the disk before any caller gets the epoch. `ceiling` is written first, and
// `synced` follows only after the sync. So a caller that meets another's raised ceiling does not rely on it
// too early.
void SharedState::raise_ceiling(Epoch epoch)
{
    Word& ceiling = header_->ceiling;
    Epoch bound = ceiling.load();
    while (bound < epoch)
        if (ceiling.compare_exchange_weak(bound, epoch + ceiling_step)) bound = epoch + ceiling_step;
    if (msync(header_, sizeof(Header), MS_SYNC) != 0) fail_errno(path_, "cannot sync the clock");
    raise_to(header_->synced, bound);
}

Epoch SharedState::next_epoch()
{
    if (!writable_) {
        throw Error(-DER_NO_PERM,
                    path_ + ": cannot write the file, so the pool gives no epochs" + owner_of(path_));
    }
    if (!started_.load(std::memory_order_acquire)) [[unlikely]]
        start_clock();
    Epoch last = header_->clock.load(std::memory_order_relaxed);
    Epoch next;
    do
        next = std::max(nanoseconds(CLOCK_REALTIME), last + 1);
    while (!header_->clock.compare_exchange_weak(last, next));
    if (durable_ && next > header_->synced.load()) [[unlikely]]
        raise_ceiling(next);
    return next;
}

void SharedState::count(unsigned target, const Counters& added)
{
    if (!writable_) return;
    const int processor = sched_getcpu(); // negative where the system does not tell
    CounterLine& line =
        lines_[target * stripes + (processor < 0 ? 0 : static_cast<unsigned>(processor) % stripes)];
    if (added.updates != 0) line.updates.fetch_add(added.updates, std::memory_order_relaxed);
    if (added.fetches != 0) line.fetches.fetch_add(added.fetches, std::memory_order_relaxed);
    if (added.bytes_written != 0)
        line.bytes_written.fetch_add(added.bytes_written, std::memory_order_relaxed);
    if (added.bytes_read != 0) line.bytes_read.fetch_add(added.bytes_read, std::memory_order_relaxed);
}

Counters SharedState::counters(unsigned target) const
{
    Counters sum;
    for (unsigned stripe = 0; stripe < stripes; ++stripe) {
        const CounterLine& line = lines_[target * stripes + stripe];
        sum.updates += line.updates.load(std::memory_order_relaxed);
        sum.fetches += line.fetches.load(std::memory_order_relaxed);
        sum.bytes_written += line.bytes_written.load(std::memory_order_relaxed);
        sum.bytes_read += line.bytes_read.load(std::memory_order_relaxed);
    }
    return sum;
}

} // namespace stepstore::store::lmdb

// kill -9 of writers of the embedded back end at random moments. Every acknowledged update is there and
// whole. Nobody waits for a dead process, and what it left half-done hinders nobody.
#include "base/checksum.h"
#include "stepstore/error.h"
#include "store/backend.h"
#include "support/processes.h"
#include "support/temporary.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

namespace stepstore::store {

namespace {

using testing::end_of;
using testing::start_child;

constexpr unsigned writers = 2;

const Backend& lmdb()
{
    return backends().front();
}

std::vector<std::byte> pattern(std::size_t length, std::uint64_t seed)
{
    std::vector<std::byte> bytes(length);
    std::mt19937_64 random(seed);
    for (std::size_t at = 0; at < length; at += 8) {
        const std::uint64_t word = random();
        std::memcpy(bytes.data() + at, &word, std::min<std::size_t>(8, length - at));
    }
    return bytes;
}

// What a record says of itself.
struct Record {
    std::uint64_t sequence; // the writer's number of it
    std::uint64_t sum;      // of the value or the extent's bytes
    ExtentRef extent;       // length 0: the value stands behind the record
};

// The number of updates of each writer that were acknowledged: memory that outlives the writers.
struct Acknowledged {
    std::atomic<std::uint64_t> next[writers];
};

std::string key_of(unsigned writer, std::uint64_t slot)
{
    return "w" + std::to_string(writer) + "-" + std::to_string(1000 + slot);
}

constexpr std::uint64_t slots = 200; // keys of a writer, overwritten in turn

// Writes for ever: small values, values of many pages, and extents, each overwriting an older one whose space
// it gives back.
[[noreturn]] void write_on(const std::string& path, unsigned writer, Acknowledged& acknowledged)
{
    const auto pool = lmdb().open(path);
    Target& target = pool->target(0);
    for (;;) {
        const std::uint64_t sequence = acknowledged.next[writer].load();
        const std::string key = key_of(writer, sequence % slots);
        const std::size_t length = sequence % 3 == 0 ? 100 : sequence % 3 == 1 ? 20'000 : 70'000;
        const auto bytes = pattern(length, sequence);
        Record record{sequence, checksum(bytes), {}};
        const Bytes piece(bytes);
        Payload payload{{&piece, 1}};
        if (sequence % 3 == 2) target.append({&payload, 1});
        record.extent = payload.extent;
        ExtentRef old;
        target.write([&](WriteTransaction& transaction) {
            target.entering(record.extent);
            old = {};
            Bytes before;
            if (transaction.get(as_bytes(key), before)) {
                Record replaced;
                std::memcpy(&replaced, before.data(), sizeof replaced);
                old = replaced.extent;
            }
            const MutableBytes value =
                transaction.reserve(as_bytes(key), sizeof record + (record.extent.length == 0 ? length : 0));
            std::memcpy(value.data(), &record, sizeof record);
            if (record.extent.length == 0) std::ranges::copy(bytes, value.begin() + sizeof record);
            // A second key in the same transaction: the two must never disagree.
            transaction.put(as_bytes("last" + std::to_string(writer)),
                            std::as_bytes(std::span(&sequence, 1)));
        });
        acknowledged.next[writer].store(sequence + 1);
        if (old.length != 0) target.release(old);
    }
}

// 0, or what is wrong.
int look(const std::string& path, const std::array<std::uint64_t, writers>& acknowledged)
{
    const auto pool = lmdb().open(path);
    Target& target = pool->target(0);
    if (!target.check().empty()) return 1;
    int wrong = 0;
    target.read([&](ReadTransaction& transaction) {
        for (unsigned writer = 0; writer < writers && wrong == 0; ++writer) {
            std::uint64_t last = 0;
            Bytes value;
            if (transaction.get(as_bytes("last" + std::to_string(writer)), value)) {
                std::memcpy(&last, value.data(), sizeof last);
                ++last;
            }
            // One update may be stored that its writer did not live to acknowledge.
            if (last < acknowledged[writer] || last > acknowledged[writer] + 1) wrong = 2;
            for (std::uint64_t slot = 0; slot < std::min(slots, last) && wrong == 0; ++slot) {
                if (!transaction.get(as_bytes(key_of(writer, slot)), value)) {
                    wrong = 3;
                    break;
                }
                Record record;
                std::memcpy(&record, value.data(), sizeof record);
                const std::uint64_t newest = (last - 1) / slots * slots + slot;
                if (record.sequence != (newest < last ? newest : newest - slots)) wrong = 4;
                std::vector<std::byte> bytes(record.extent.length);
                if (record.extent.length != 0) target.read_extent(record.extent, 0, bytes);
                const Bytes stored = record.extent.length != 0 ? Bytes(bytes) : value.subspan(sizeof record);
                if (checksum(stored) != record.sum) wrong = 5;
            }
        }
    });
    if (wrong != 0) return wrong;
    target.write(
        [&](WriteTransaction& transaction) { transaction.put(as_bytes("looked"), as_bytes("yes")); });
    return 0;
}

class BackendCrash : public ::testing::TestWithParam<Durability> {};

TEST_P(BackendCrash, KilledWritersLoseNothingThatWasAcknowledged)
{
    constexpr int kills = 40;
    testing::TemporaryDirectory directory;
    const std::string path = directory / "pool";
    lmdb().create(path, {1, GetParam()});
    void* shared =
        mmap(nullptr, sizeof(Acknowledged), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    auto& acknowledged = *new (shared) Acknowledged{};
    std::mt19937 random(GetParam() == Durability::power ? 7 : 11);

    std::array<pid_t, writers> running{};
    const auto start = [&](unsigned writer) {
        running[writer] = start_child([&, writer]() -> int { write_on(path, writer, acknowledged); });
    };
    for (unsigned writer = 0; writer < writers; ++writer)
        start(writer);
    for (int kill_number = 0; kill_number < kills; ++kill_number) {
        usleep(static_cast<useconds_t>(5'000 + random() % 60'000));
        // Mostly one writer, while the other goes on and must not notice; sometimes both, and a look at a
        // pool at rest.
        const unsigned victim = static_cast<unsigned>(random() % writers);
        const bool both = kill_number % 4 == 3;
        for (unsigned writer = 0; writer < writers; ++writer) {
            if (writer != victim && !both) continue;
            kill(running[writer], SIGKILL);
            ASSERT_EQ(end_of(running[writer]), -SIGKILL) << "the writer ended by itself";
        }
        if (both) {
            const std::array<std::uint64_t, writers> stored{acknowledged.next[0].load(),
                                                            acknowledged.next[1].load()};
            ASSERT_EQ(testing::run_in_child([&] { return look(path, stored); }), 0)
                << "after kill " << kill_number;
            // What a writer stored but could not acknowledge it stores once more.
            for (unsigned writer = 0; writer < writers; ++writer)
                start(writer);
            continue;
        }
        const std::uint64_t others = acknowledged.next[1 - victim].load();
        for (int wait = 0; wait < 1000 && acknowledged.next[1 - victim].load() == others; ++wait)
            usleep(5'000);
        ASSERT_GT(acknowledged.next[1 - victim].load(), others) << "the dead writer stops the living one";
        start(victim);
    }
    for (const pid_t writer : running) {
        kill(writer, SIGKILL);
        end_of(writer);
    }
    const std::array<std::uint64_t, writers> stored{acknowledged.next[0].load(), acknowledged.next[1].load()};
    EXPECT_EQ(testing::run_in_child([&] { return look(path, stored); }), 0);
    EXPECT_GT(stored[0] + stored[1], 100U) << "too little was written to say anything";
    munmap(shared, sizeof(Acknowledged));
}

INSTANTIATE_TEST_SUITE_P(Durabilities, BackendCrash,
                         ::testing::Values(Durability::process, Durability::power), [](const auto& one) {
                             return one.param == Durability::power ? "power" : "process";
                         });

} // namespace

} // namespace stepstore::store

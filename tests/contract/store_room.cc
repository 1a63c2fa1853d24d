// A caller's room for a value: what comes after the value in it, while another thread replaces it. Users
// give cleared memory and take what comes back for a text that ends with a zero.
#include "store/user_attributes.h"
#include "support/store_fixture.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace stepstore::testing {
namespace {

constexpr std::size_t room = 100'000;

class RoomContract : public StoreTest {
protected:
    static int rounds() { return GetParam() == "rados" ? 60 : 600; }

    // put: stores a text of this length; -1: removes it. get: the bytes that came into the room, if any.
    template <class Put, class Get>
    void attack(std::vector<int> lengths, Put put, Get get)
    {
        std::atomic<bool> over = false;
        put(std::string(3, 'v'));
        std::thread writer([&] {
            for (std::size_t next = 0; !over; ++next) {
                const int length = lengths[next % lengths.size()];
                std::optional<std::string> text;
                if (length >= 0) text.emplace(static_cast<std::size_t>(length), 'v');
                put(text);
            }
        });
        for (int round = 0; round < rounds() && !HasFailure(); ++round) {
            std::vector<std::byte> memory(room);
            const std::uint64_t filled = get(MutableBytes(memory));
            const auto end = memory.begin() + static_cast<std::ptrdiff_t>(filled);
            EXPECT_EQ(std::count(memory.begin(), end, std::byte{'v'}), static_cast<std::ptrdiff_t>(filled));
            EXPECT_EQ(std::count(end, memory.end(), std::byte{0}), memory.end() - end)
                << "after a value of " << filled << " bytes";
        }
        over = true;
        writer.join();
    }
};
INSTANTIATE_TEST_SUITE_P(Backends, RoomContract, every_backend(), backend_name);

TEST_P(RoomContract, OfKeys)
{
    for (const auto object_class : {class_s1, class_rp_2g1}) {
        const ObjectId oid = kv_object(1, object_class);
        const auto put = [&](const std::optional<std::string>& text) {
            if (text)
                container->kv_put(oid, as_bytes("key"), as_bytes(*text));
            else
                container->kv_remove(oid, as_bytes("key"));
        };
        attack({200, 3, -1, 70'000, 5, 200'000, 9, 70'000, -1}, put, [&](MutableBytes into) {
            const std::uint64_t size = container->kv_get(oid, as_bytes("key"), into).value_or(0);
            return size <= into.size() ? size : 0;
        });
        attack({200, 3, -1, 70'000, 5}, put, [&](MutableBytes into) {
            KeyRead reads[] = {{as_bytes("other"), {}, {}}, {as_bytes("key"), into, {}}};
            container->kv_get_many(oid, reads);
            return reads[1].size.value_or(0);
        });
    }
}

TEST_P(RoomContract, OfAkeys)
{
    const ObjectId oid{class_sx, 1};
    const auto fetch = [&](AkeyType type, MutableBytes into) {
        const MutableBytes memory[] = {into.first(2), into.subspan(2)};
        const Range range{0, into.size()};
        AkeyFetch one{as_bytes("akey"), type, type == AkeyType::array ? 1U : 0U, {}, memory};
        if (type == AkeyType::array) one.ranges = {&range, 1};
        container->akey_fetch(oid, as_bytes("dkey"), {&one, 1});
        return one.bytes;
    };
    for (const AkeyType type : {AkeyType::single, AkeyType::array}) {
        const auto put = [&](const std::optional<std::string>& text) {
            const Bytes akey = as_bytes("akey");
            if (!text) return container->akey_punch(oid, as_bytes("dkey"), {&akey, 1});
            const Bytes value = as_bytes(*text);
            const Range range{0, value.size()};
            AkeyUpdate one{akey, type, type == AkeyType::array ? 1 : value.size(), {}, {&value, 1}};
            if (type == AkeyType::array) one.ranges = {&range, 1};
            container->akey_update(oid, as_bytes("dkey"), {&one, 1});
        };
        attack({70'000, -1, 200, -1, 3, -1}, put, [&](MutableBytes into) { return fetch(type, into); });
        put({});
    }
}

TEST_P(RoomContract, OfUserAttributes)
{
    const auto attributes = container->user_attributes();
    const std::string name = "name";
    attack(
        {20'000, 3, 200, -1, 5, -1},
        [&](const std::optional<std::string>& text) {
            if (!text) return (void)attributes->remove({&name, 1});
            const NewUserAttribute one{name, as_bytes(*text)};
            attributes->set({&one, 1});
        },
        [&](MutableBytes into) {
            UserAttributeRead read{name, into, {}};
            attributes->get({&read, 1});
            return read.size.value_or(0);
        });
}

} // namespace
} // namespace stepstore::testing

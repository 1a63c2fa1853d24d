// Byte codecs, checksums and callable references.
#include "base/bytes.h"
#include "base/checksum.h"
#include "base/function_ref.h"

#include <gtest/gtest.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <string>
#include <vector>
#include <xxhash.h>

namespace stepstore {
namespace {

TEST(Bytes, LittleEndianIsTheOrderOnDisk)
{
    std::array<std::byte, 8> out{};
    store_little(out.data(), std::uint64_t{0x0102030405060708});
    EXPECT_EQ(out[0], std::byte{8});
    EXPECT_EQ(out[7], std::byte{1});
    EXPECT_EQ(load_little<std::uint64_t>(out.data()), 0x0102030405060708u);
    store_little(out.data(), std::uint16_t{0xabcd});
    EXPECT_EQ(load_little<std::uint16_t>(out.data()), 0xabcdu);
}

TEST(Bytes, BigEndianKeysSortAsNumbers)
{
    std::mt19937_64 random(7);
    std::vector<std::uint64_t> numbers(1000);
    for (auto& number : numbers)
        number = random() >> (random() % 64);
    std::vector<std::string> keys;
    for (auto number : numbers) {
        std::array<std::byte, 8> key{};
        store_big(key.data(), number);
        keys.emplace_back(as_text(key));
        EXPECT_EQ(load_big<std::uint64_t>(key.data()), number);
    }
    std::sort(numbers.begin(), numbers.end());
    std::sort(keys.begin(), keys.end());
    for (std::size_t i = 0; i < keys.size(); ++i)
        EXPECT_EQ(load_big<std::uint64_t>(as_bytes(keys[i]).data()), numbers[i]);
}

TEST(Checksum, IsXxh3SoThatOldPoolsStayReadable)
{
    // XXH3_64bits of the empty input, from the algorithm's specification.
    EXPECT_EQ(checksum({}), 0x2d06800538d394c2u);
}

TEST(Checksum, SeesEverySingleFlippedBit)
{
    std::vector<std::byte> data(300);
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<std::byte>(i * 7);
    const auto whole = checksum(data);
    for (std::size_t bit = 0; bit < data.size() * 8; ++bit) {
        data[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
        EXPECT_NE(checksum(data), whole) << "bit " << bit;
        data[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    }
}

TEST(Checksum, OfPiecesEqualsTheOneOfTheWhole)
{
    const std::string text(5000, 'x');
    ChecksumStream stream;
    for (std::size_t at = 0, step = 1; at < text.size(); at += step, step = step * 3 + 1)
        stream.update(as_bytes(std::string_view(text).substr(at, step)));
    EXPECT_EQ(stream.digest(), checksum(as_bytes(text)));
}

// Whichever instructions it takes: of the lengths at which XXH3 goes on in another way, those around.
TEST(Checksum, IsTheLibrarysAtEveryLengthAndSeed)
{
    std::mt19937_64 random(11);
    std::vector<std::byte> data((std::size_t{1} << 20) + 100);
    for (auto& byte : data)
        byte = static_cast<std::byte>(random());
    std::vector<std::size_t> lengths;
    for (const std::size_t middle : {0, 16, 128, 240, 1024, 4096, 16384, 65536, 1 << 20})
        for (std::size_t length = middle - std::min<std::size_t>(middle, 70); length <= middle + 70; ++length)
            lengths.push_back(length);
    for (const std::size_t length : lengths)
        for (const std::size_t from : {0, 1, 16})
            for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{0}})
                ASSERT_EQ(checksum(Bytes(data).subspan(from, length), seed),
                          XXH3_64bits_withSeed(data.data() + from, length, seed))
                    << length << " bytes from " << from << ", seed " << seed;
}

#ifdef __x86_64__
// Whether values are in the upper halves of the vector registers; nullopt: this processor does not say.
std::optional<bool> upper_halves_are_used()
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__builtin_cpu_supports("avx") || __get_cpuid_count(0xd, 1, &a, &b, &c, &d) == 0 || (a & 4) == 0)
        return std::nullopt;
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(1));
    return (a & 0x44) != 0; // of 256 and of 512 bits
}

TEST(Checksum, LeavesTheVectorRegistersAsTheyWere)
{
    if (!upper_halves_are_used()) GTEST_SKIP() << "the processor does not tell";
    const std::vector<std::byte> data(100'000, std::byte{3});
    __asm__ volatile("vzeroupper" ::: "memory");
    ASSERT_FALSE(*upper_halves_are_used());
    for (const std::size_t length : {300, 4096, 100'000}) {
        static_cast<void>(checksum(Bytes(data).first(length)));
        EXPECT_FALSE(*upper_halves_are_used()) << length << " bytes";
    }
    ChecksumStream stream;
    stream.update(data);
    EXPECT_FALSE(*upper_halves_are_used());
}
#endif

TEST(FunctionRef, CallsTheOriginalObject)
{
    int calls = 0;
    auto count = [&calls](int by) { return calls += by; };
    FunctionRef<int(int)> reference = count;
    EXPECT_EQ(reference(2), 2);
    EXPECT_EQ(reference(3), 5);
    EXPECT_EQ(calls, 5);
}

} // namespace
} // namespace stepstore

// Harnesses for the decoders of stored bytes. Each is given bytes that an enemy could have stored, with the
// checksums right. A decoder gives a value, or throws an Error. Anything else ends the program: another
// exception, memory that is not its own, undefined behaviour, much memory for few bytes.
//
// A harness is a function under FUZZ(room, decoder) in a file in harness/. The environment variable
// FUZZ_HARNESS says which one the program runs: "steps.plan".
#pragma once

#include "base/bytes.h"
#include "stepstore/error.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepstore::fuzz {

// What the bytes of an input are taken for, from the front. At the end numbers are 0.
class Input {
public:
    explicit Input(Bytes bytes) : left_(bytes) {}

    std::uint64_t number(std::size_t bytes = 8)
    {
        std::uint64_t value = 0;
        for (std::size_t at = 0; at < bytes && !left_.empty(); ++at) {
            value |= std::to_integer<std::uint64_t>(left_.front()) << (8 * at);
            left_ = left_.subspan(1);
        }
        return value;
    }
    std::uint64_t below(std::uint64_t end) { return number(1) % end; } // at most 256
    Bytes bytes(std::size_t most)
    {
        const Bytes part = left_.first(std::min(most, left_.size()));
        left_ = left_.subspan(part.size());
        return part;
    }
    Bytes rest() { return bytes(left_.size()); }
    bool at_end() const { return left_.empty(); }

private:
    Bytes left_;
};

// A copy without room after it: a read beyond its end is found.
class Copy {
public:
    explicit Copy(Bytes bytes) : bytes_(std::make_unique<std::byte[]>(bytes.size())), size_(bytes.size())
    {
        std::ranges::copy(bytes, bytes_.get());
    }
    operator Bytes() const { return {bytes_.get(), size_}; }
    MutableBytes writable() { return {bytes_.get(), size_}; }

private:
    std::unique_ptr<std::byte[]> bytes_;
    std::size_t size_;
};

inline void require(bool holds, const char* what)
{
    if (holds) return;
    std::fprintf(stderr, "what was decoded cannot be: %s\n", what);
    std::abort();
}
// Reads every byte.
inline void touch(Bytes bytes)
{
    static volatile unsigned char sink;
    unsigned char sum = 0;
    for (const std::byte one : bytes)
        sum ^= std::to_integer<unsigned char>(one);
    sink = sum;
}
inline void touch(std::string_view text)
{
    touch(std::as_bytes(std::span(text)));
}

using Run = void (*)(Input&);
inline std::map<std::string, Run>& harnesses()
{
    static std::map<std::string, Run> all;
    return all;
}
struct Registered {
    Registered(const char* name, Run run) { harnesses()[name] = run; }
};

} // namespace stepstore::fuzz

#define FUZZ(room, decoder)                                                                                  \
    static void fuzz_##room##_##decoder(::stepstore::fuzz::Input& input);                                    \
    static const ::stepstore::fuzz::Registered registered_##room##_##decoder(#room "." #decoder,             \
                                                                             fuzz_##room##_##decoder);       \
    static void fuzz_##room##_##decoder(::stepstore::fuzz::Input& input)

// What the ranks of a writer have agreed on.
#include "fuzz.h"

#include "steps/write/agreement.cc"

namespace stepstore::steps {

FUZZ(steps, agreement)
{
    std::vector<std::byte> bytes(4);
    store_little(bytes.data(), agreed_magic);
    const Bytes rest = input.rest();
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    // Without a log, which it does not ask.
    alignas(Agreement) std::byte memory[sizeof(Agreement)]{};
    auto* known = std::construct_at(&reinterpret_cast<Agreement*>(memory)->known_);
    try {
        reinterpret_cast<Agreement*>(memory)->learn(fuzz::Copy(bytes), 0);
    } catch (const Error&) {
    }
    std::destroy_at(known);
}

} // namespace stepstore::steps

// The array objects of larger blobs: their numbers, and taking back what dead writers left
// (client/unpublished.h says how, and why nothing is lost).
//
// - A process takes numbers in ranges. The mark of a range lies in the register of writers.
// - It removes its marks when it ends with no write under way. A range with a publication in doubt stays
//   marked as long as the process lives.
// - A process that takes its first range, and finds a mark of a dead process, takes back. It also destroys
//   objects that no mark covers and no entry names. Before it lists the objects it reads which marks are of
//   the dead: those write no more objects. After that it reads which numbers the living have: an object that
//   was listed has its mark by then, or its writer has published or given up. Last it reads the entries.
//
// Fork: a child takes ranges of its own. Threads may share all.
//
// Errors: those of the store; leave() and destroy() throw none, since take_back() does later what they could
// not.
#pragma once

#include "base/not_copied.h"
#include "base/own_state.h"
#include "base/process.h"
#include "client/unpublished.h"
#include "stepstore/client.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

namespace stepstore::blobs {

// The user's half of the ids' upper part.
inline constexpr std::uint32_t directory_hi = 0x53530301;
inline constexpr std::uint32_t writers_hi = 0x53530302;
inline constexpr std::uint32_t data_hi = 0x53530303;

struct NumberRange {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    ProcessIdentity process;
    bool has(std::uint64_t number) const { return number >= first && number - first < count; }
};
struct RangeForm {
    using Mark = NumberRange;
    static std::vector<std::byte> encode(const Mark& mark);
    // A damaged one may be a living writer's, of any numbers.
    static std::optional<Mark> decode(Bytes bytes, const std::string& what);
    static const ProcessIdentity& process(const Mark& mark) { return mark.process; }
};

class Numbers {
public:
    // container: outlives this. takes_back: the store tells which objects there are. names: the numbers that
    // the entries of the directory have now.
    using Names = std::function<std::unordered_set<std::uint64_t>()>;
    Numbers(Container& container, std::string where, bool takes_back, Names names);
    ~Numbers();

    struct Own;
    // A number for one write, which is over when this goes. Of the process that took it.
    class Use : NotCopied {
    public:
        Use(const Numbers& numbers, Own& own, std::uint64_t number)
            : numbers_(numbers), own_(own), number_(number)
        {
        }
        ~Use();
        std::uint64_t number() const { return number_; }

    private:
        const Numbers& numbers_;
        Own& own_;
        std::uint64_t number_;
    };
    std::unique_ptr<Use> take();
    void keep(std::uint64_t number); // its publication is in doubt
    // Removes the marks of this process, if it writes nothing. A later write takes new numbers.
    void leave() noexcept;

    // All bytes of one in one chunk, and so on one target. Asks nothing of the store.
    Array object(std::uint64_t number, Access access = Access::read_write) const;
    void destroy(std::uint64_t number) const noexcept; // if that fails, take_back() finds it
    std::size_t take_back() const;                     // how many objects were destroyed

private:
    void take_range(Own& own);
    KeyValue open_register() const;
    Unpublished<RangeForm> marks(KeyValue& writers) const { return {writers, "", "a writer of " + where_}; }

    Container& container_;
    std::string where_;
    ObjectId data_id_; // with the lower id 0
    bool takes_back_;
    Names names_;
    PerProcess<OwnState::blob_numbers, Own> own_;
};

} // namespace stepstore::blobs

// What an open location has, for the parts of this room that work on it.
// Threads: one at a time; OwnWork alone has a thread of its own, and keeps its failure until it is asked for.
// Errors: as each function says.
#pragma once

#include "arrays/arrays.h"
#include "arrays/group.h"
#include "arrays/head.h"
#include "arrays/transfer.h"
#include "base/not_copied.h"
#include "base/wire.h"

#include <atomic>
#include <functional>
#include <map>
#include <set>
#include <thread>

namespace stepstore::arrays {

// An array as the last read found it.
struct KnownArray {
    std::uint64_t fingerprint = 0; // of the header's bytes
    Header header;
    std::vector<StoredBlock> blocks;
};

// Of rank 0: where the next append of this session goes.
struct AppendPlace {
    std::uint64_t generation = 0;
    std::uint64_t object = 0;
    std::uint64_t end = 0; // bytes
};

// Of rank 0: what a publication in doubt would have named.
struct InDoubt {
    ObjectRange objects;
    std::string object_class;
};

struct Store::Session : NotCopied {
    Session(Mode opened_for, OpenOptions with) : mode(opened_for), options(with) {}

    std::string where; // "POOL/CONTAINER"
    Mode mode;
    OpenOptions options;
    std::unique_ptr<Group> group; // null: closed
    std::optional<Pool> pool;
    std::optional<Container> container;
    std::optional<EventQueue> queue;
    std::vector<Request::State*> under_way; // requests that nobody has waited for
    std::uint64_t requests = 0;             // so far

    Group& open_group(const std::string& call) const; // -DER_NO_HDL: closed
    Access access() const { return mode == Mode::write ? Access::read_write : Access::read_only; }
    void require_writable() const; // -DER_NO_PERM
    std::string array_name(const std::string& name) const { return "array '" + name + "' in " + where; }
    std::shared_ptr<Head> head(const std::string& name);
    Array data_object(std::uint64_t number, const DataLayout& layout) const;
    TransferOptions transfer_options() const;

    // Of rank 0.
    std::uint64_t take_numbers(std::uint64_t count); // of data objects: the first of them
    void make_known(Head& head); // first write of an array: enters its name, collects what the dead have left
    void enter(const std::string& name); // in the name list
    std::optional<std::vector<std::byte>> entry(const std::string& name) const;
    // After a removal. entry: as it was before it; another process may have entered a new array since.
    void forget(const std::string& name, const std::optional<std::vector<std::byte>>& entry);
    std::map<std::string, AppendPlace> append_places;
    std::map<std::string, std::vector<InDoubt>> in_doubt; // by array; of this session's own

    std::map<std::string, std::shared_ptr<const KnownArray>> known; // by reads

private:
    std::map<std::string, std::shared_ptr<Head>> heads_;
    std::set<std::string> entered_;
    std::uint64_t next_number_ = 0;
    std::uint64_t end_number_ = 0;
};

// A request: what is under way on this rank, and how it ends.
struct Request::State : NotCopied {
    virtual ~State() = default;
    virtual void wait() = 0;                       // collective
    virtual bool ready() = 0;                      // not collective
    virtual void give_up() noexcept = 0;           // waits for this rank's transfers, publishes nothing
    virtual const std::string& call() const = 0;   // "write_array 'T'"
    virtual const std::string& writes() const = 0; // the array that is written; "" of a read
};

// Work of one rank, in the background or at once.
class OwnWork : NotCopied {
public:
    ~OwnWork() { settle(); }
    void start(std::function<void()> work, bool in_background);
    bool ready() const;
    void settle() noexcept; // waits
    const std::exception_ptr& failure() const { return failure_; }
    double seconds() const { return seconds_; } // that it took

private:
    void run(const std::function<void()>& work) noexcept;
    std::thread thread_; // of OwnState::array_request
    std::atomic<bool> done_ = true;
    std::exception_ptr failure_;
    double seconds_ = 0;
};

[[noreturn]] void was_given_up(const std::string& call); // -DER_CANCELED

// ---- arguments as the interface gives them
std::string shown(const std::string& name);                                            // in messages: 'T'
void check_name(const std::string& name, const char* what, bool may_be_empty = false); // -DER_INVAL
// Row-major, and nothing negative. -DER_INVAL names the dimension.
Extents to_extents(const Numbers& numbers, const Naming& naming, const char* what, std::int64_t least);
Dims to_dims(const Extents& extents, const Naming& naming); // in the order of the interface
// The memory of a box. strides: as given, empty: contiguous. -DER_INVAL.
Memory to_memory(const void* first, const Numbers& strides, const Box& box, const Naming& naming,
                 std::uint64_t element_size);
// Bytes of an array of this shape; -DER_OVERFLOW beyond 2^63.
std::uint64_t bytes_of(const Extents& shape, const ElementType& type, const Naming& naming);

// What a rank says first of an array: its elements and dimensions.
struct Elements {
    ElementType type;
    unsigned dimensions = 0;
};
void write_elements(WireWriter& to, const Elements& elements);
Elements read_elements(WireReader& from);
void require_same_elements(const Elements& first, const Elements& other, std::size_t rank); // -DER_MISMATCH
void write_extents(WireWriter& to, const Extents& extents, unsigned dimensions);
Extents read_extents(WireReader& from, unsigned dimensions);
// The end of this rank's own work, for rank 0.
std::vector<std::byte> status_of(const std::exception_ptr& failure);
// Throws the failure of the lowest rank that had one.
void require_success(std::span<const Bytes> statuses);
[[noreturn]] void ranks_differ(const std::string& what, const std::string& first, std::size_t rank,
                               const std::string& other); // -DER_MISMATCH
// 1 to 7. -DER_INVAL.
unsigned checked_dimensions(std::size_t dimensions);
void check_type(const ElementType& type); // -DER_INVAL

} // namespace stepstore::arrays

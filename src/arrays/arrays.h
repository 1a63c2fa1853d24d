// Arrays of a parallel program: a location that is open, and what can be done with the arrays in it. The C
// interface (include/stepstore/arrays.h) says what each call means; what is said here is what C++ adds.
//
// Every call is collective over the communicator, but for those of Request::ready() and what says so. Each
// throws the same Error on all ranks.
//
// A location and its requests belong to the process that opened it. A forked child gets -DER_NO_HDL from
// every call, before anything is planned, and its end leaves what its parent writes alone.
//
//     Store store("run1", Mode::write, self_communicator(), {});
//     store.write({.name = "T", .type = {Kind::real64}, .shape = {4, 6}, .data = values});
//
// Threads: one at a time for each Store, its requests included; transfers run in threads of their own.
#pragma once

#include "arrays/record.h"
#include "base/own_state.h"
#include "comm/communicator.h"
#include "stepstore/client.h"

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stepstore::arrays {

enum class Mode : std::uint8_t { read, write };

struct OpenOptions {
    Order order = Order::row_major; // of all dimensions in calls and results, and of memory
    unsigned targets = 0;           // of a pool that is made: as PoolOptions
    Durability durability = Durability::process;
    Verify verify = Verify::yes;
    std::uint64_t transfer_size = 16 << 20; // bytes of one request
    std::uint64_t snapshot = 0;             // epoch; 0: now
    double timeout_seconds = 300;           // for another rank to make the same call
};

enum class Placement : std::uint8_t { one_object, object_per_block };

// Signed, as programs give them: what is negative is refused by name.
using Numbers = std::vector<std::int64_t>;

struct WriteCall {
    std::string name;
    ElementType type;
    Numbers shape;              // of the array; of the slab, where it is appended; a 0 in it: no elements
    Numbers start = {};         // of this rank's block; empty, with count: the whole
    Numbers count = {};         // a 0 in it: this rank has no block
    Numbers strides = {};       // bytes; empty: contiguous
    const void* data = nullptr; // must stay until the call or its request has ended
    Placement placement = Placement::one_object;
    std::optional<int> append_along = {}; // dimension, in the order of the store
    DataLayout layout = {};               // of an array that is made
    std::exception_ptr fault = nullptr;   // what the caller found wrong; all ranks get it
};

struct ReadCall {
    std::string name;
    ElementType type;
    unsigned dimensions = 0;
    Numbers shape = {};                           // expected; empty: any
    std::optional<std::uint64_t> generation = {}; // of inquire(), expected, else -DER_STALE; nullopt: any
    Numbers start = {};                           // empty, with count: the whole array
    Numbers count = {};
    Numbers strides = {};
    void* data = nullptr;
    std::exception_ptr fault = nullptr;
};

// Dimensions in the order of the store.
struct ArrayInfo {
    std::string name;
    ElementType type;
    Order order = Order::row_major; // of the program that wrote
    Dims shape;
    std::optional<unsigned> grows_along;
    std::uint64_t blocks = 0;
    DataLayout layout;
    std::uint64_t version = 0;
    std::uint64_t generation = 0; // another one: the array was replaced, not only appended to
};

struct BlockInfo {
    Dims start;
    Dims count;
};

// A transfer under way. Its memory must stay until wait() returned or it was destroyed.
class Request {
public:
    Request();
    ~Request(); // waits for this rank's transfers; what was to be published is given up
    Request(Request&&) noexcept;
    Request& operator=(Request&&) noexcept;
    void wait();        // a second one does nothing
    bool ready() const; // not collective: this rank's own transfers are complete
    struct State;

private:
    friend class Store;
    OfProcess<OwnState::array_request, State> state_;
};

class Store {
public:
    // location: POOL[/CONTAINER], as of streams (location/location.h).
    Store(const std::string& location, Mode mode, std::shared_ptr<Communicator> communicator,
          const OpenOptions& options = {}, const std::exception_ptr& fault = nullptr);
    ~Store(); // without close(): the other ranks are told
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    // After it no call is possible, also when it throws.
    void close();
    void sync();

    void write(const WriteCall& call);
    void read(const ReadCall& call);
    Request begin_write(const WriteCall& call);
    Request begin_read(const ReadCall& call);

    ArrayInfo inquire(const std::string& name);
    std::vector<BlockInfo> blocks(const std::string& name); // as they were written
    void remove(const std::string& name);
    std::vector<std::string> list(); // sorted

    // name "": of the location.
    void set_attribute(const std::string& name, const std::string& attribute, const Attribute& value,
                       const std::exception_ptr& fault = nullptr);
    Attribute attribute(const std::string& name, const std::string& attribute);
    void remove_attribute(const std::string& name, const std::string& attribute);
    std::vector<std::string> attributes(const std::string& name);

    // Not collective.
    int rank() const;
    int size() const;
    Order order() const;
    const std::string& where() const; // "POOL/CONTAINER"

    struct Session;

private:
    OfProcess<OwnState::array_location, Session> session_;
};

} // namespace stepstore::arrays

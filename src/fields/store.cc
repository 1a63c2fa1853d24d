#include "fields/store.h"

#include "fields/session.h"
#include "fields/writer.h"

#include <daos_errno.h>

#include <deque>
#include <exception>
#include <mutex>
#include <utility>

namespace stepstore::fields {

namespace {

// Purge looks so many numbers beyond the last object that it finds of a writer that died.
constexpr std::size_t most_in_flight = max_unwritten_numbers;

struct InFlight {
    std::vector<std::byte> data;
    Range range;
    Bytes memory;
    Array array;
    Pending pending;
};

} // namespace

struct Store::State {
    State(std::shared_ptr<Dataset> of, const WriterOptions& with) : dataset(std::move(of)), options(with) {}

    FieldLocation pack(Bytes data);
    void write_pack();
    void write(std::uint64_t object, std::vector<std::byte>&& data);
    void wait_oldest();
    void wait_all();
    // After a failed write nothing says which of the fields archived since the last flush are there. So that none of
    // them is indexed by mistake, everything fails from then on.
    template <class Body>
    void until_failure(Body body)
    {
        if (failure) std::rethrow_exception(failure);
        try {
            dataset->guarded(body);
        } catch (...) {
            failure = std::current_exception();
            throw;
        }
    }

    std::shared_ptr<Dataset> dataset;
    WriterOptions options;
    std::mutex mutex; // guards all below
    std::exception_ptr failure;
    std::vector<std::byte> packed; // small fields that are not written yet
    std::uint64_t pack_object = 0; // where they go
    std::optional<EventQueue> queue;
    std::deque<InFlight> in_flight;
    std::uint64_t bytes_in_flight = 0;
};

FieldLocation Store::State::pack(Bytes data)
{
    if (packed.empty()) {
        pack_object = dataset->writer().object_number();
        packed.reserve(dataset->options().pack_size + dataset->options().pack_below);
    }
    const FieldLocation location{pack_object, packed.size(), data.size()};
    packed.insert(packed.end(), data.begin(), data.end());
    if (packed.size() >= dataset->options().pack_size) write_pack();
    return location;
}

void Store::State::write_pack()
{
    if (packed.empty()) return;
    if (options.asynchronous) {
        write(pack_object, std::exchange(packed, {}));
        return;
    }
    dataset->data_array(pack_object).write(0, packed);
    packed.clear();
}

void Store::State::write(std::uint64_t object, std::vector<std::byte>&& data)
{
    if (!queue) queue.emplace(dataset->session().pool().event_queue());
    while (in_flight.size() >= most_in_flight ||
           (!in_flight.empty() && bytes_in_flight + data.size() > options.in_flight))
        wait_oldest();
    InFlight& one = in_flight.emplace_back(
        InFlight{std::move(data), {}, {}, dataset->data_array(object), Pending()});
    one.range = {0, one.data.size()};
    one.memory = one.data;
    bytes_in_flight += one.data.size();
    one.pending = one.array.write(*queue, {&one.range, 1}, {&one.memory, 1});
}

void Store::State::wait_oldest()
{
    InFlight& one = in_flight.front();
    bytes_in_flight -= one.data.size();
    try {
        one.pending.wait();
    } catch (...) {
        in_flight.pop_front();
        throw;
    }
    in_flight.pop_front();
}

void Store::State::wait_all()
{
    std::exception_ptr first;
    while (!in_flight.empty()) {
        try {
            wait_oldest();
        } catch (...) {
            if (!first) first = std::current_exception();
        }
    }
    if (first) std::rethrow_exception(first);
}

Store::Store(std::shared_ptr<Dataset> dataset, const WriterOptions& options)
    : state_(std::make_unique<State>(std::move(dataset), options))
{
    if (options.indexed_elsewhere)
        state_->dataset->guarded([&] { state_->dataset->key_value().put(elsewhere_key, as_bytes("yes")); });
}

Store::~Store() = default;

FieldLocation Store::archive(Bytes data)
{
    if (data.empty()) return {};
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    FieldLocation location;
    state.until_failure([&] {
        if (data.size() < state.dataset->options().pack_below) {
            location = state.pack(data);
            return;
        }
        location = {state.dataset->writer().object_number(), 0, data.size()};
        if (state.options.asynchronous)
            state.write(location.object, std::vector<std::byte>(data.begin(), data.end()));
        else
            state.dataset->data_array(location.object).write(0, data);
    });
    return location;
}

void Store::flush(bool sync)
{
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    state.until_failure([&] {
        state.write_pack();
        state.wait_all();
        if (sync) state.dataset->session().sync_flushed();
    });
}

const std::shared_ptr<Dataset>& Store::dataset() const
{
    return state_->dataset;
}

} // namespace stepstore::fields

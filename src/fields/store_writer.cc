#include "fields/store_writer.h"

#include "base/checksum.h"
#include "client/in_doubt.h"
#include "fields/session.h"
#include "fields/unsynced.h"
#include "fields/writer.h"
#include "location/location.h"

#include <daos_errno.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <utility>

namespace stepstore::fields {

namespace {

// Purge looks so many numbers beyond the last object that it finds of a dead writer.
constexpr std::size_t most_in_flight = max_unwritten_numbers;

struct InFlight {
    std::uint64_t object = 0;
    std::vector<std::byte> data;
    Range range;
    Bytes memory;
    Array array;
    Pending pending;
};

} // namespace

struct StoreWriter::State {
    State(std::shared_ptr<Dataset> of, const WriterOptions& with)
        : dataset(std::move(of)), options(with), unsynced(dataset),
          keeps_sums(dataset->options().verify &&
                     !capabilities_of(dataset->session().location()).verifies_cells)
    {
    }

    FieldLocation pack(Bytes data);
    void write_pack();
    void write(std::uint64_t object, std::vector<std::byte>& data);
    void wait_oldest();
    void wait_all();
    void retry();
    // Runs `body` once nothing is left that could not be written before.
    template <class Body>
    void when_all_is_written(Body body)
    {
        dataset->guarded([&] {
            retry();
            body();
        });
    }

    std::shared_ptr<Dataset> dataset;
    WriterOptions options;
    std::mutex mutex;              // of OwnState::field_store: guards all below
    Unsynced unsynced;             // archived; its caller's when it flushes without a sync
    const bool keeps_sums;         // of fields
    std::vector<std::byte> packed; // small fields that are not written yet
    std::uint64_t pack_object = 0; // where they go
    std::optional<EventQueue> queue;
    std::deque<InFlight> in_flight;
    std::uint64_t bytes_in_flight = 0;
    // Of fields whose archive() has returned, and which could not be written, on a full disk, say.
    std::map<std::uint64_t, std::vector<std::byte>> unwritten; // by object
};

FieldLocation StoreWriter::State::pack(Bytes data)
{
    if (packed.empty()) {
        pack_object = dataset->writer().object_number();
        packed.reserve(dataset->options().pack_size + dataset->options().pack_below);
    }
    const FieldLocation location{pack_object, packed.size(), data.size()};
    packed.insert(packed.end(), data.begin(), data.end());
    try {
        if (packed.size() >= dataset->options().pack_size) write_pack();
    } catch (const Error& error) {
        // The others of the pack are archived, this one is not. Its place is given to another field only if
        // nothing can write its bytes there any more.
        if (!is_in_doubt(error)) packed.resize(std::min<std::size_t>(packed.size(), location.offset));
        throw;
    }
    return location;
}

void StoreWriter::State::write_pack()
{
    if (packed.empty()) return;
    if (options.asynchronous)
        write(pack_object, packed);
    else
        dataset->data_array(pack_object).write(0, packed);
    packed.clear();
}

// data: taken over when the write has begun, left alone when it throws.
void StoreWriter::State::write(std::uint64_t object, std::vector<std::byte>& data)
{
    if (!queue) queue.emplace(dataset->session().pool().event_queue());
    while (in_flight.size() >= most_in_flight ||
           (!in_flight.empty() && bytes_in_flight + data.size() > options.in_flight))
        wait_oldest();
    InFlight& one = in_flight.emplace_back(object, std::vector<std::byte>(), Range{0, data.size()},
                                           Bytes(data), dataset->data_array(object), Pending());
    try {
        one.pending = one.array.write(*queue, {&one.range, 1}, {&one.memory, 1});
    } catch (...) {
        in_flight.pop_back();
        throw;
    }
    one.data = std::move(data); // the memory stays where it is
    data.clear();
    bytes_in_flight += one.data.size();
}

void StoreWriter::State::wait_oldest()
{
    InFlight& one = in_flight.front();
    bytes_in_flight -= one.data.size();
    try {
        one.pending.wait();
    } catch (const Error&) { // perhaps it can be written now
        unwritten.emplace(one.object, std::move(one.data));
    }
    in_flight.pop_front();
    retry();
}

void StoreWriter::State::wait_all()
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

void StoreWriter::State::retry()
{
    while (!unwritten.empty()) {
        const auto one = unwritten.begin();
        dataset->data_array(one->first).write(0, one->second);
        unwritten.erase(one);
    }
}

StoreWriter::StoreWriter(std::shared_ptr<Dataset> dataset, const WriterOptions& options)
    : state_([dataset = std::move(dataset), options] { return std::make_unique<State>(dataset, options); })
{
    if (options.indexed_elsewhere)
        state_->dataset->guarded([&] { state_->dataset->key_value().put(elsewhere_key, as_bytes("yes")); });
}

StoreWriter::~StoreWriter() = default;

FieldLocation StoreWriter::archive(Bytes data)
{
    if (data.empty()) return {};
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    FieldLocation location;
    state.when_all_is_written([&] {
        if (data.size() < state.dataset->options().pack_below) {
            location = state.pack(data);
            return;
        }
        location = {state.dataset->writer().object_number(), 0, data.size()};
        if (state.options.asynchronous) {
            std::vector<std::byte> copy(data.begin(), data.end());
            state.write(location.object, copy);
        } else {
            state.dataset->data_array(location.object).write(0, data);
        }
    });
    state.unsynced.add(location);
    if (state.keeps_sums) location.checksum = checksum(data);
    return location;
}

void StoreWriter::flush(bool sync)
{
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    state.when_all_is_written([&] {
        state.write_pack();
        state.wait_all();
        if (sync)
            state.unsynced.sync();
        else
            state.unsynced.clear();
    });
}

const std::shared_ptr<Dataset>& StoreWriter::dataset() const
{
    return state_->dataset;
}

} // namespace stepstore::fields

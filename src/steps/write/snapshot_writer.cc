#include "steps/write/snapshot_writer.h"

#include "steps/layouts/reference/step_snapshots.h"

namespace stepstore::steps {

SnapshotWriter::SnapshotWriter(std::unique_ptr<LayoutWriter> places, Container& container,
                               const LayoutContext& context, Communicator& communicator, GroupWatch* watch,
                               Profile& profile)
    : places_(std::move(places)), container_(container), pool_(context.pool), record_(context.record),
      side_(container.key_value(record_.side)), exchange_(communicator), watch_(watch), profile_(profile)
{
}

void SnapshotWriter::abandon(std::uint64_t step)
{
    if (places_->meets(step))
        places_->abandon(step); // there the others are told, and come no further
    else
        exchange_.fail();
}

void SnapshotWriter::store(std::uint64_t step, Bytes metadata)
{
    store_metadata(step, metadata);
    exchange_.meet(step, [&] { keep(step); });
}

void SnapshotWriter::store_metadata(std::uint64_t step, Bytes metadata)
{
    const std::uint64_t before = places_->requests();
    try {
        places_->store(step, metadata);
    } catch (const Error& error) {
        if (error.code() != -DER_CANCELED || !places_->meets(step)) tell_failure(step, error.what());
        throw;
    }
    requests_ += places_->requests() - before;
}

// On rank 0, when all ranks' metadata is stored.
void SnapshotWriter::keep(std::uint64_t step)
{
    const Stopwatch time(profile_.snapshot, "stepstore.stabilisation.snapshot");
    try {
        const std::uint64_t epoch = container_.create_snapshot(snapshot_name(pool_, record_, step));
        side_.put(snapshot_key(step), encode_snapshot(step, {epoch, false}));
        requests_ += 2;
    } catch (const Error& error) {
        if (watch_ != nullptr) watch_->give_up(step, error.what());
        throw;
    }
}

// The others wait for this rank's word.
void SnapshotWriter::tell_failure(std::uint64_t step, const std::string& why) noexcept
{
    if (watch_ != nullptr) watch_->give_up(step, why);
    try {
        exchange_.fail();
    } catch (const std::exception&) { // the first error is the one to tell
    }
}

} // namespace stepstore::steps

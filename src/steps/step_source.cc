#include "steps/step_source.h"

#include "steps/codec/wire.h"
#include "steps/collective.h"

#include <algorithm>
#include <thread>

namespace stepstore::steps {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t loaded_steps = 16; // kept in random access

void append_blobs(std::vector<std::byte>& message, const StepBlobs& blobs)
{
    WireWriter to(message);
    to.fixed(blobs.step);
    for (std::uint32_t rank = 0; rank < blobs.ranks(); ++rank)
        to.varint(blobs.offsets[rank + 1] - blobs.offsets[rank]);
    to.bytes(blobs.bytes);
}

void take_blobs(WireReader& from, std::uint32_t ranks, StepBlobs& blobs)
{
    blobs.offsets.assign(1, 0);
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        blobs.offsets.push_back(blobs.offsets.back() + from.varint());
    const Bytes bytes = from.bytes(blobs.offsets.back());
    blobs.bytes.assign(bytes.begin(), bytes.end());
}

Container container_of(const Pool& pool, const OpenedStream& opened)
{
    Container container = pool.open_container(opened.location.container, Access::read_only);
    return opened.snapshot == 0 ? std::move(container) : container.at_snapshot(opened.snapshot);
}

} // namespace

OpenStream::OpenStream(OpenedStream opened, Gets gets)
    : opened_(std::move(opened)), gets_(gets), pool_(Pool::connect(opened_.location.pool, Access::read_only)),
      container_(container_of(pool_, opened_)),
      catalogue_(container_, opened_.location.pool + "/" + opened_.location.container, Access::read_only)
{
}

std::optional<StreamRecord> OpenStream::look()
{
    auto now = catalogue_.find(opened_.location.stream);
    if (!now || now->generation != opened_.record.generation) throw replaced_error(opened_.location.text(), now);
    return now;
}

void OpenStream::refresh()
{
    if (opened_.record.closed) return require_current();
    const auto now = look();
    opened_.record.closed = now->closed;
    opened_.record.steps = now->steps;
}

void OpenStream::require_current()
{
    look();
}

StepSource::StepSource(OpenStream& stream, const ReaderOptions& options, Communicator& communicator, Profile& profile)
    : stream_(stream), options_(options), communicator_(communicator), profile_(profile),
      decoder_(stream.record().generation, stream.record().ranks)
{
}

LayoutReader& StepSource::layout()
{
    if (layout_ == nullptr) layout_ = make_layout_reader(stream_.context());
    return *layout_;
}

std::vector<std::byte> StepSource::fetch_blob(std::uint64_t step, std::uint32_t rank, BlobPart part)
{
    if (!side_) side_ = stream_.container().key_value(stream_.record().side, Access::read_only);
    return fetch_known(layout(), *side_, stream_.record(), step, rank, part);
}

std::shared_ptr<const InstalledStep> StepSource::next(double timeout_seconds, StepStatus& status)
{
    if (ahead_.empty()) {
        if (!delegated()) {
            status = acquire(timeout_seconds, nullptr);
        } else {
            // Rank 0's word: a status and steps, or the error it met, which it throws here as well.
            std::exception_ptr failed;
            std::vector<std::byte> message;
            if (communicator_.rank() == 0) {
                message.resize(1);
                try {
                    message[0] = static_cast<std::byte>(acquire(timeout_seconds, &message));
                } catch (...) {
                    failed = std::current_exception();
                    const Failure failure = failure_of(failed);
                    message.assign(1, static_cast<std::byte>(StepStatus::other_error));
                    WireWriter to(message);
                    to.fixed(static_cast<std::uint32_t>(failure.code));
                    to.fixed(next_step_);
                    to.text(failure.message);
                }
            }
            {
                const Stopwatch watch(profile_.broadcast, "stepstore.acquisition.broadcast");
                communicator_.broadcast(message, 0);
            }
            if (failed != nullptr) std::rethrow_exception(failed);
            if (communicator_.rank() != 0) install_message(message);
            status = static_cast<StepStatus>(message[0]);
        }
        if (status != StepStatus::ok) return nullptr;
    }
    status = StepStatus::ok;
    auto step = ahead_.front();
    ahead_.pop_front();
    return step;
}

// Finds the next step, and installs it and what is read ahead; into the message goes what the other ranks need for the
// same.
StepStatus StepSource::acquire(double timeout_seconds, std::vector<std::byte>* message)
{
    StepBlobs blobs;
    bool at_once = true;
    try {
        const StepStatus status = wait_for(next_step_, timeout_seconds, blobs, at_once);
        if (status != StepStatus::ok) return status;
        const std::size_t bytes = blobs.bytes.size();
        install_found(std::move(blobs), message);
        ++next_step_;
        if (at_once) read_ahead(bytes, message);
        return StepStatus::ok;
    } catch (const Error& error) {
        decoder_.forget();
        // Damage is final: the next call goes on behind it. A stream that was replaced stays replaced.
        const bool damage = error.code() == -DER_CSUM || error.code() == -DER_DF_INVAL || error.code() == -DER_NONEXIST;
        if (damage) stream_.require_current(); // not because its objects are gone
        if (damage) ++next_step_;
        throw;
    }
}

StepStatus StepSource::wait_for(std::uint64_t step, double timeout_seconds, StepBlobs& blobs, bool& at_once)
{
    const auto begin = Clock::now();
    const auto waited = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
    double pause = options_.poll_interval;
    while (true) {
        const bool was_closed = stream_.record().closed;
        if (was_closed && step >= stream_.record().steps) return StepStatus::end_of_stream;
        {
            const Region region("stepstore.acquisition.read");
            const auto started = Clock::now();
            const std::uint64_t requests = layout().requests();
            const bool found = layout().fetch(step, blobs);
            profile_.metadata_requests += layout().requests() - requests;
            if (found) {
                profile_.read += std::chrono::duration<double>(Clock::now() - started).count();
                profile_.metadata_bytes += blobs.bytes.size();
                return StepStatus::ok;
            }
        }
        at_once = false;
        if (was_closed)
            throw Error(-DER_CSUM, "step " + std::to_string(step) + " of " + stream_.location().text() +
                                       " is missing, though the stream was closed with " +
                                       std::to_string(stream_.record().steps) +
                                       " steps: its metadata was lost; `stepstore pool check` says what can be saved");
        stream_.refresh();
        if (stream_.record().closed) continue; // a last look, or the end
        const double left = timeout_seconds < 0 ? pause : timeout_seconds - waited();
        if (left <= 0) return StepStatus::not_ready;
        const Stopwatch watch(profile_.wait, "stepstore.wait");
        std::this_thread::sleep_for(std::chrono::duration<double>(std::min(pause, left)));
        pause = std::min(pause * 1.5, options_.poll_interval * 4);
    }
}

void StepSource::install_found(StepBlobs&& blobs, std::vector<std::byte>* message)
{
    const Stopwatch watch(profile_.install, "stepstore.acquisition.install");
    std::vector<std::byte> needed;
    std::uint64_t count = 0;
    WireWriter to(needed);
    const std::size_t begin = message ? message->size() : 0;
    if (message) append_blobs(*message, blobs);
    try {
        ahead_.push_back(decoder_.install(std::move(blobs), [&](std::uint64_t step, std::uint32_t rank, BlobPart part) {
            std::vector<std::byte> blob = fetch_blob(step, rank, part);
            if (message) {
                to.fixed(step);
                to.fixed(rank);
                to.varint(blob.size());
                to.bytes(blob);
                ++count;
            }
            return blob;
        }));
    } catch (...) {
        if (message) message->resize(begin);
        throw;
    }
    if (!message) return;
    WireWriter end(*message);
    end.varint(count);
    end.bytes(needed);
}

// Steps that are there already, while they fit the budget. What is damaged is left for its own turn.
void StepSource::read_ahead(std::size_t bytes, std::vector<std::byte>* message)
{
    std::uint64_t budget = options_.read_ahead;
    while (bytes <= budget) {
        if (stream_.record().closed && next_step_ >= stream_.record().steps) return;
        budget -= bytes;
        try {
            StepBlobs blobs;
            const std::uint64_t requests = layout().requests();
            bool found = false;
            {
                const Stopwatch watch(profile_.read, "stepstore.acquisition.read");
                found = layout().fetch(next_step_, blobs);
            }
            profile_.metadata_requests += layout().requests() - requests;
            if (!found) return;
            bytes = blobs.bytes.size();
            profile_.metadata_bytes += bytes;
            install_found(std::move(blobs), message);
        } catch (const Error&) {
            decoder_.forget();
            if (message) WireWriter(*message).fixed(no_step); // that the others do the same
            return;
        }
        ++next_step_;
    }
}

void StepSource::install_message(Bytes message)
{
    WireReader from(message, "rank 0's message about the next step");
    const auto status = static_cast<StepStatus>(from.fixed<std::uint8_t>());
    if (status == StepStatus::other_error) {
        const auto code = static_cast<int>(from.fixed<std::uint32_t>());
        next_step_ = from.fixed<std::uint64_t>();
        decoder_.forget();
        throw Error(code, std::string(from.text()));
    }
    const Stopwatch watch(profile_.install, "stepstore.acquisition.install");
    while (!from.at_end()) {
        StepBlobs blobs;
        blobs.step = from.fixed<std::uint64_t>();
        if (blobs.step == no_step) {
            decoder_.forget();
            continue;
        }
        take_blobs(from, stream_.record().ranks, blobs);
        next_step_ = blobs.step + 1;
        std::uint64_t count = from.varint();
        ahead_.push_back(decoder_.install(std::move(blobs), [&](std::uint64_t step, std::uint32_t rank, BlobPart) {
            if (count == 0) from.fail("lacks an earlier blob");
            --count;
            if (from.fixed<std::uint64_t>() != step || from.fixed<std::uint32_t>() != rank)
                from.fail("holds another blob");
            const Bytes blob = from.bytes(from.varint());
            return std::vector<std::byte>(blob.begin(), blob.end());
        }));
        if (count != 0) from.fail("holds blobs that nobody asked for");
    }
}

std::shared_ptr<const InstalledStep> StepSource::load(std::uint64_t step)
{
    const auto known = std::ranges::find(loaded_, step, [](const auto& one) { return one->step; });
    if (known != loaded_.end()) {
        std::rotate(known, known + 1, loaded_.end());
        return loaded_.back();
    }
    StepBlobs blobs;
    bool found = false;
    {
        const Stopwatch watch(profile_.read, "stepstore.acquisition.read");
        const std::uint64_t requests = layout().requests();
        found = layout().fetch(step, blobs);
        profile_.metadata_requests += layout().requests() - requests;
    }
    if (!found) {
        stream_.refresh();
        throw Error(-DER_NONEXIST, "step " + std::to_string(step) + " of " + stream_.location().text() +
                                       " is not there: the stream has " + std::to_string(count()) + " whole steps");
    }
    profile_.metadata_bytes += blobs.bytes.size();
    std::shared_ptr<const InstalledStep> installed;
    {
        const Stopwatch watch(profile_.install, "stepstore.acquisition.install");
        installed = decoder_.install(std::move(blobs), [&](std::uint64_t other, std::uint32_t rank, BlobPart part) {
            return fetch_blob(other, rank, part);
        });
    }
    profile_.end_step(step);
    if (loaded_.size() == loaded_steps) loaded_.pop_front();
    loaded_.push_back(installed);
    return installed;
}

// Whole steps are a row without gaps, so their end is found by doubling, then halving.
std::uint64_t StepSource::count()
{
    stream_.refresh();
    if (stream_.record().closed) return stream_.record().steps;
    std::uint64_t reach = 1;
    while (layout().published(counted_ + reach - 1)) {
        counted_ += reach;
        reach *= 2;
    }
    while (reach > 1) {
        reach /= 2;
        if (layout().published(counted_ + reach - 1)) counted_ += reach;
    }
    return counted_;
}

} // namespace stepstore::steps

#include "steps/read/step_source.h"

#include "base/wire.h"
#include "comm/collective.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stepstore::steps {

namespace {

constexpr std::size_t loaded_steps = 16;       // kept in random access
constexpr std::uint64_t ahead_at_once = 64;    // steps in one round of requests
constexpr std::uint64_t usual_ahead = 1 << 20; // bytes; large steps: two of them, up to
constexpr std::uint64_t most_ahead = std::uint64_t{128} << 20;
constexpr double look_at_writer = 0.1; // seconds between two looks whether it still lives, while waiting
constexpr std::byte with_record{0x80}; // in the status of rank 0's message

void append_metadata(std::vector<std::byte>& message, std::uint64_t generation, const StepMetadata& fetched)
{
    WireWriter to(message);
    to.fixed(fetched.step);
    to.fixed(generation);
    for (std::uint32_t rank = 0; rank < fetched.ranks(); ++rank)
        to.varint(fetched.of(rank).size());
    for (const Bytes metadata : fetched.by_rank)
        message.insert(message.end(), metadata.begin(), metadata.end()); // without zeroing it first
}

// Into memory of `spares`. Rank 0 has opened them.
StepMetadata take_metadata(WireReader& from, std::uint32_t ranks, const std::shared_ptr<SpareBuffers>& spares)
{
    std::vector<std::uint64_t> sizes;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        sizes.push_back(from.varint());
    const Bytes bytes = from.bytes(std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}));
    StepMetadata fetched;
    fetched.use(spares, bytes.size());
    std::ranges::copy(bytes, fetched.bytes.begin());
    fetched.divide(sizes);
    fetched.opened = true;
    return fetched;
}

// The first step that ranks do not read for themselves. All ranks must get the same steps. So it is one of
// those that the record promised, which rank 0 gave to all when the stream was opened.
std::uint64_t steps_of_everyone(const OpenStream& stream, Readers readers)
{
    if (readers == Readers::everyone) return no_step;
    const StreamRecord& record = stream.record();
    const bool fit =
        readers == Readers::automatic && record.closed && !capabilities_of(stream.location().pool).network;
    return fit ? record.steps : 0;
}

} // namespace

StepSource::StepSource(OpenStream& stream, const ReaderOptions& options, Communicator& communicator,
                       Profile& profile, bool one_machine)
    : stream_(stream), options_(options), communicator_(communicator), profile_(profile),
      near_(one_machine && !capabilities_of(stream.location().pool).network),
      own_until_(steps_of_everyone(stream, options.readers)), told_generation_(stream.record().generation),
      told_closed_(stream.record().closed), pause_(stream, options.poll_interval)
{
}

StepSource::Part& StepSource::part_of(const StreamRecord& segment)
{
    const auto known = parts_.find(segment.generation);
    if (known != parts_.end()) return known->second;
    if (options_.mode == ReadMode::stream) parts_.clear();
    return parts_
        .emplace(segment.generation, Part{segment, nullptr, std::nullopt,
                                          Decoder(segment.generation, segment.ranks, dictionary_)})
        .first->second;
}

LayoutReader& StepSource::reader_of(Part& part)
{
    if (part.layout == nullptr) part.layout = open_layout(stream_.context(part.record));
    return *part.layout;
}

bool StepSource::fetch(Part& part, std::uint64_t step, StepMetadata& fetched)
{
    const Region region("stepstore.acquisition.read");
    LayoutReader& layout = reader_of(part);
    const auto started = SteadyClock::now();
    const std::uint64_t requests = layout.requests();
    const bool found = layout.fetch(step, fetched);
    profile_.metadata_requests += layout.requests() - requests;
    if (!found) return false;
    profile_.read += std::chrono::duration<double>(SteadyClock::now() - started).count();
    profile_.metadata_bytes += fetched.size();
    return true;
}

void StepSource::fetch_ahead(Part& part, std::uint64_t count, std::vector<StepMetadata>& found)
{
    const Stopwatch watch(profile_.read, "stepstore.acquisition.read");
    LayoutReader& layout = reader_of(part);
    const std::uint64_t requests = layout.requests();
    layout.fetch_ahead(next_step_, count, found);
    profile_.metadata_requests += layout.requests() - requests;
    for (const StepMetadata& fetched : found)
        profile_.metadata_bytes += fetched.size();
}

std::vector<std::byte> StepSource::fetch_metadata(Part& part, std::uint64_t step, std::uint32_t rank,
                                                  MetadataPart which)
{
    if (!part.side) part.side = stream_.container().key_value(part.record.side, Access::read_only);
    return fetch_known(reader_of(part), *part.side, part.record, step, rank, which);
}

void StepSource::forget()
{
    for (auto& [generation, part] : parts_)
        part.decoder.forget();
}

std::shared_ptr<const InstalledStep> StepSource::next(double timeout_seconds, StepStatus& status)
{
    if (ahead_.empty()) {
        status = delegated() ? delegate(timeout_seconds) : acquire(timeout_seconds, nullptr);
        if (status != StepStatus::ok) return nullptr;
    }
    status = StepStatus::ok;
    auto step = ahead_.front();
    ahead_.pop_front();
    stream_.note_seen(step->step + 1);
    return step;
}

bool StepSource::delegated() const
{
    return communicator_.size() > 1 && next_step_ >= own_until_;
}

StepStatus StepSource::delegate(double timeout_seconds)
{
    const StepStatus status = look_for_all(timeout_seconds);
    if (status != StepStatus::not_ready) return status;
    // Rank 0 may have looked before the others came here, and they may be the ones who write the step.
    communicator_.barrier();
    return look_for_all(0);
}

// Rank 0's word to all: a status, the record where it is another than before, and steps; or the error that it
// met, which all throw.
StepStatus StepSource::look_for_all(double timeout_seconds)
{
    std::exception_ptr failed;
    if (communicator_.rank() == 0) {
        message_.resize(1);
        try {
            message_[0] = static_cast<std::byte>(acquire(timeout_seconds, &message_));
            tell_record(message_);
        } catch (...) {
            failed = std::current_exception();
            const Failure failure = failure_of(failed);
            message_.assign(1, static_cast<std::byte>(StepStatus::other_error));
            WireWriter to(message_);
            to.fixed(static_cast<std::uint32_t>(failure.code));
            to.fixed(next_step_);
            to.text(failure.message);
        }
    }
    {
        const Stopwatch watch(profile_.broadcast, "stepstore.acquisition.broadcast");
        communicator_.broadcast(message_, 0);
    }
    if (failed != nullptr) std::rethrow_exception(failed);
    const StepStatus status = communicator_.rank() != 0 ? install_message(message_)
                                                        : static_cast<StepStatus>(message_[0] & ~with_record);
    if (message_.capacity() > SpareBuffers::most) message_ = {};
    return status;
}

void StepSource::tell_record(std::vector<std::byte>& message)
{
    const StreamRecord& record = stream_.record();
    if (record.generation == told_generation_ && record.closed == told_closed_) return;
    told_generation_ = record.generation;
    told_closed_ = record.closed;
    const std::vector<std::byte> encoded = encode_record(record);
    std::vector<std::byte> inserted;
    WireWriter to(inserted);
    to.varint(encoded.size());
    to.bytes(encoded);
    message[0] |= with_record;
    message.insert(message.begin() + 1, inserted.begin(), inserted.end());
}

// Finds the next step, and installs it and what is read ahead; into the message goes what the other ranks
// need for the same.
StepStatus StepSource::acquire(double timeout_seconds, std::vector<std::byte>* message)
{
    StepMetadata fetched;
    bool at_once = true;
    try {
        if (next_step_ == 0) next_step_ = first_kept(0);
        const StepStatus status = wait_for(next_step_, timeout_seconds, fetched, at_once);
        if (status != StepStatus::ok) return status;
        const std::size_t bytes = fetched.size();
        install_found(part_of(stream_.segment_of(next_step_)), std::move(fetched), message);
        ++next_step_;
        if (at_once) read_ahead(bytes, message);
        return StepStatus::ok;
    } catch (const Error& error) {
        forget();
        // Damage is final: the next call goes on after it. A stream that was replaced stays replaced.
        if (error.code() == -DER_EP_OLD) throw skip_gone(error);
        const bool damage =
            error.code() == -DER_CSUM || error.code() == -DER_DF_INVAL || error.code() == -DER_NONEXIST;
        if (damage) stream_.require_current(); // not because its objects are gone
        if (damage) ++next_step_;
        throw;
    }
}

std::uint64_t StepSource::first_kept(std::uint64_t step)
{
    while (true) {
        const StreamRecord& segment = stream_.segment_of(step);
        const bool last = segment.generation == stream_.record().generation;
        step = open_layout(stream_.context(segment))->first_kept(step);
        if (last || step < segment.steps) return step;
    }
}

// A reader that was slower than the removal of steps goes on after them.
Error StepSource::skip_gone(const Error& error)
{
    stream_.refresh(); // the gap may reach into a segment that was appended since
    const std::uint64_t from = next_step_;
    next_step_ = std::max(from + 1, first_kept(from));
    return {error.code(), "the steps " + std::to_string(from) + " to " + std::to_string(next_step_ - 1) +
                              " of " + stream_.location().text() + " are gone: " + error.what()};
}

StepStatus StepSource::wait_for(std::uint64_t step, double timeout_seconds, StepMetadata& fetched,
                                bool& at_once)
{
    const auto begin = SteadyClock::now();
    const auto waited = [&] { return std::chrono::duration<double>(SteadyClock::now() - begin).count(); };
    pause_.begin();
    double next_look = 0; // at the writer, in seconds of waiting
    bool writer_gone = false;
    while (true) {
        if (stream_.record().closed && step >= stream_.record().steps) return StepStatus::end_of_stream;
        const StreamRecord& segment = stream_.segment_of(step);
        const bool closed = segment.closed;
        if (fetch(part_of(segment), step, fetched)) return StepStatus::ok;
        at_once = false;
        stream_.refresh();
        const StreamRecord& now = stream_.segment_of(step);
        if (closed && &now == &segment && step < segment.steps)
            throw Error(
                -DER_CSUM,
                "step " + std::to_string(step) + " of " + stream_.location().text() +
                    " is missing, although its writer ended the stream later, after " +
                    std::to_string(segment.steps) +
                    " steps: its metadata was lost (`stepstore pool check` says what can be saved), or "
                    "this machine does not see what another one wrote (docs/nodes.md, rule 6)");
        if (now.closed || &now != &segment) continue;                // a last look, or the end
        if (stream_.is_snapshot()) return StepStatus::end_of_stream; // it stays as it is
        const double left = timeout_seconds < 0 ? HUGE_VAL : timeout_seconds - waited();
        if (left <= 0 || writer_gone || waited() >= next_look) {
            const LeaseWatch::Found found = stream_.writer().look();
            const bool gone = found == LeaseWatch::Found::left || found == LeaseWatch::Found::died;
            if (gone && writer_gone) {
                if (found == LeaseWatch::Found::left) return StepStatus::end_of_stream;
                dead_writer_ = stream_.writer().holder();
                return StepStatus::writer_died;
            }
            writer_gone = gone;
            if (gone) continue; // it may have ended the step, or the stream, just before
            next_look = waited() + look_at_writer;
        }
        if (left <= 0) return StepStatus::not_ready;
        const Stopwatch watch(profile_.wait, "stepstore.wait");
        pause_.pass(left);
    }
}

void StepSource::install_found(Part& part, StepMetadata&& fetched, std::vector<std::byte>* message)
{
    const Stopwatch watch(profile_.install, "stepstore.acquisition.install");
    std::vector<std::byte> needed;
    std::uint64_t count = 0;
    WireWriter to(needed);
    const std::size_t begin = message ? message->size() : 0;
    if (message) append_metadata(*message, part.record.generation, fetched);
    try {
        const auto fetch = [&](std::uint64_t step, std::uint32_t rank, MetadataPart which) {
            std::vector<std::byte> metadata = fetch_metadata(part, step, rank, which);
            if (message) {
                to.fixed(step);
                to.fixed(rank);
                to.varint(metadata.size());
                to.bytes(metadata);
                ++count;
            }
            return metadata;
        };
        ahead_.push_back(part.decoder.install(std::move(fetched), fetch));
    } catch (...) {
        if (message) message->resize(begin);
        throw;
    }
    if (!message) return;
    WireWriter end(*message);
    end.varint(count);
    end.bytes(needed);
}

// By the size of the last one.
std::uint64_t StepSource::steps_to_ask_for(std::size_t bytes, std::uint64_t budget) const
{
    const StreamRecord& segment = stream_.segment_of(next_step_);
    std::uint64_t count = std::min(budget / std::max<std::size_t>(bytes, 1), ahead_at_once);
    if (next_step_ < own_until_) count = std::min(count, own_until_ - next_step_);
    if (!segment.closed) return std::min(count, hoped_for_);
    return segment.steps > next_step_ ? std::min(count, segment.steps - next_step_) : 0;
}

// Nothing where a rank reads for itself what lies on its machine. There is no way to a server to save, and
// the metadata of several steps would only leave the processor's cache before they are used.
std::uint64_t StepSource::usual_budget(std::size_t bytes) const
{
    if (near_ && !delegated()) return 0;
    return std::clamp<std::uint64_t>(2 * std::uint64_t{bytes}, usual_ahead, most_ahead);
}

// Steps that are there already, while they fit the budget. What is damaged is left for its own turn.
void StepSource::read_ahead(std::size_t bytes, std::vector<std::byte>* message)
{
    std::uint64_t budget = options_.read_ahead.value_or(usual_budget(bytes));
    while (const std::uint64_t count = steps_to_ask_for(bytes, budget)) {
        std::vector<StepMetadata> found;
        try {
            Part& part = part_of(stream_.segment_of(next_step_));
            fetch_ahead(part, count, found);
            hoped_for_ = 2 * found.size() + 1;
            for (StepMetadata& fetched : found) {
                bytes = fetched.size();
                budget -= std::min<std::uint64_t>(budget, bytes);
                install_found(part, std::move(fetched), message);
                ++next_step_;
            }
        } catch (const Error&) {
            forget();
            if (message) WireWriter(*message).fixed(no_step); // that the others do the same
            return;
        }
        if (found.size() < count) return;
    }
}

StepStatus StepSource::install_message(Bytes message)
{
    WireReader from(message, "rank 0's message about the next step");
    const auto first = from.fixed<std::uint8_t>();
    const auto status = static_cast<StepStatus>(first & static_cast<std::uint8_t>(~with_record));
    if ((first & static_cast<std::uint8_t>(with_record)) != 0)
        stream_.take_record(decode_record(from.bytes(from.varint()), stream_.location().text()));
    if (status == StepStatus::other_error) {
        const auto code = static_cast<int>(from.fixed<std::uint32_t>());
        next_step_ = from.fixed<std::uint64_t>();
        forget();
        throw Error(code, std::string(from.text()));
    }
    const Stopwatch watch(profile_.install, "stepstore.acquisition.install");
    while (!from.at_end()) {
        const auto number = from.fixed<std::uint64_t>();
        if (number == no_step) {
            forget();
            continue;
        }
        Part& part = part_of(stream_.segment(from.fixed<std::uint64_t>()));
        StepMetadata fetched = take_metadata(from, part.record.ranks, spares_);
        fetched.step = number;
        next_step_ = fetched.step + 1;
        std::uint64_t count = from.varint();
        ahead_.push_back(part.decoder.install(
            std::move(fetched), [&](std::uint64_t step, std::uint32_t rank, MetadataPart) {
                if (count == 0) from.fail("lacks metadata of an earlier step");
                --count;
                if (from.fixed<std::uint64_t>() != step || from.fixed<std::uint32_t>() != rank)
                    from.fail("holds metadata of another step or rank");
                const Bytes metadata = from.bytes(from.varint());
                return std::vector<std::byte>(metadata.begin(), metadata.end());
            }));
        if (count != 0) from.fail("holds metadata that was not asked for");
    }
    return status;
}

std::shared_ptr<const InstalledStep> StepSource::load(std::uint64_t step)
{
    const auto known = std::ranges::find(loaded_, step, [](const auto& one) { return one->step; });
    if (known != loaded_.end()) {
        std::rotate(known, known + 1, loaded_.end());
        return loaded_.back();
    }
    Part& part = part_of(stream_.segment_of(step));
    StepMetadata fetched;
    try {
        if (!fetch(part, step, fetched)) {
            stream_.refresh();
            throw Error(-DER_NONEXIST, "step " + std::to_string(step) + " of " + stream_.location().text() +
                                           " does not exist yet: the stream has " + std::to_string(count()) +
                                           " whole steps");
        }
        const Stopwatch watch(profile_.install, "stepstore.acquisition.install");
        std::shared_ptr<const InstalledStep> installed = part.decoder.install(
            std::move(fetched), [&](std::uint64_t other, std::uint32_t rank, MetadataPart which) {
                return fetch_metadata(part, other, rank, which);
            });
        if (loaded_.size() == loaded_steps) loaded_.pop_front();
        loaded_.push_back(installed);
    } catch (const Error&) {
        stream_.require_current(); // rather say that it was replaced, or cut off, than that it is damaged
        throw;
    }
    profile_.end_step(step);
    stream_.note_seen(step + 1);
    return loaded_.back();
}

std::uint64_t StepSource::count()
{
    stream_.refresh();
    const StreamRecord& record = stream_.record();
    if (record.closed) return record.steps;
    counted_ = std::max(counted_, record.first_step);
    // One of its own: a part belongs to the steps that are read, which may be of an earlier segment.
    const auto layout = open_layout(stream_.context(stream_.segment_of(no_step)));
    return counted_ += layout->count_published(counted_);
}

// The last step of a segment knows all definitions of the segment; where it is damaged, the one before knows
// most.
void StepSource::learn_definitions(std::uint64_t steps)
{
    constexpr std::uint64_t most_tries = 1000;                     // a record may say any number of steps
    std::vector<std::pair<std::uint64_t, std::uint64_t>> segments; // first step, end
    for (const Segment& one : stream_.record().earlier)
        segments.emplace_back(one.first_step, std::min(one.end_step, steps));
    segments.emplace_back(stream_.record().first_step, steps);
    for (const auto& [first, end] : segments) {
        for (std::uint64_t step = end; step-- > first && end - step <= most_tries;) {
            try {
                load(step);
                break;
            } catch (const Error& error) {
                if (error.code() == -DER_EP_OLD) break; // with it all before it
                if (error.code() != -DER_CSUM && error.code() != -DER_DF_INVAL) throw;
            }
        }
    }
}

} // namespace stepstore::steps

#include "steps/layouts/reference/step_snapshots.h"

#include "base/record.h"
#include "location/find/location.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <list>
#include <set>

namespace stepstore::steps {

namespace {

constexpr std::uint32_t snapshot_magic = 0x4e535353; // "SSSN"
constexpr std::string_view key_end = "-Snapshot";
constexpr std::size_t snapshot_size = 29; // encoded

// By the number of the side object: of a copied stream the generation may be another stream's here.
std::string name_prefix(const StreamRecord& segment)
{
    return "steps " + std::to_string(segment.side.lo) + " ";
}

// The step of a snapshot with such a name.
std::optional<std::uint64_t> step_of_name(std::string_view name, std::string_view prefix)
{
    if (!name.starts_with(prefix)) return std::nullopt;
    std::uint64_t step = 0;
    const auto [rest, error] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), step);
    if (error != std::errc{} || rest != name.data() + name.size()) return std::nullopt;
    return step;
}

// By the keys of the side object: the epochs of the steps from `from` on.
std::set<std::uint64_t> published_epochs(const KeyValue& side, std::uint64_t from)
{
    std::vector<std::uint64_t> steps;
    side.list([&](std::string_view key) {
        if (!key.ends_with(key_end)) return true;
        key.remove_suffix(key_end.size());
        const auto step = step_of_name(key, "Step");
        if (step && *step >= from) steps.push_back(*step);
        return true;
    });
    std::set<std::uint64_t> epochs;
    for (const std::uint64_t step : steps) {
        try {
            if (const auto value = side.get(snapshot_key(step)))
                epochs.insert(decode_snapshot(*value, step).epoch);
        } catch (const Error& error) { // where snapshots have names, the name tells it
            if (error.code() != -DER_CSUM && error.code() != -DER_DF_INVAL) throw;
        }
    }
    return epochs;
}

class SnapshotReader final : public LayoutReader {
public:
    explicit SnapshotReader(const LayoutContext& context)
        : context_(context), side_(context.container.key_value(context.record.side, Access::read_only)),
          queue_(context.pool.event_queue())
    {
    }

    bool fetch(std::uint64_t step, StepMetadata& into) override
    {
        return at_snapshot(step, [&](LayoutReader& layout) {
            if (!layout.fetch(step, into))
                throw Error(-DER_CSUM,
                            "the metadata of step " + std::to_string(step) +
                                " is missing in its snapshot: this step cannot be read, others can");
            note_size(into);
        });
    }

    void fetch_ahead(std::uint64_t first, std::uint64_t count, std::vector<StepMetadata>& into) override
    {
        try {
            for (const StepSnapshot& snapshot : look_ahead(first, count)) {
                if (snapshot.gone) return;
                Opened at(context_, first++, snapshot.epoch, expected_);
                const std::size_t before = into.size();
                at.layout->fetch_ahead(at.step, 1, into);
                requests_ += at.layout->requests();
                if (into.size() == before) return;
                note_size(into.back());
            }
        } catch (const Error&) { // the step's own turn tells it
        }
    }

    std::optional<std::vector<std::byte>> raw_metadata(std::uint64_t step, std::uint32_t rank) override
    {
        std::optional<std::vector<std::byte>> metadata;
        at_snapshot(step, [&](LayoutReader& layout) { metadata = layout.raw_metadata(step, rank); });
        return metadata;
    }

    bool published(std::uint64_t step) override { return look_past_damage(step).has_value(); }

    bool gone(std::uint64_t step) override
    {
        const auto snapshot = look_past_damage(step);
        return snapshot && snapshot->gone;
    }

private:
    // The objects as they were at the snapshot of a step.
    struct Opened {
        Opened(const LayoutContext& now, std::uint64_t of, std::uint64_t epoch, std::size_t expected)
            : step(of), container(now.container.at_epoch(epoch)),
              layout(layout_of(now.record).reader({now.pool, container, now.record, expected}))
        {
        }
        std::uint64_t step;
        Container container;
        std::unique_ptr<LayoutReader> layout;
    };

    std::optional<StepSnapshot> look(std::uint64_t step)
    {
        ++requests_;
        const auto value = side_.get_nonempty(snapshot_key(step));
        if (!value) return std::nullopt;
        return decode_snapshot(*value, step);
    }

    // Those of a row of steps, in flight together, up to the first that is not there.
    std::vector<StepSnapshot> look_ahead(std::uint64_t first, std::uint64_t count)
    {
        struct Request {
            std::string key;
            std::array<std::byte, snapshot_size> value;
            std::size_t size;
            Pending pending;
        };
        std::vector<StepSnapshot> found;
        std::deque<Request> requests; // addresses stay
        for (std::uint64_t i = 0; i < count; ++i) {
            Request& one = requests.emplace_back(
                snapshot_key(first + i), std::array<std::byte, snapshot_size>(), snapshot_size, Pending{});
            one.pending = side_.get_into(queue_, one.key, one.value.data(), &one.size);
            ++requests_;
        }
        for (Request& one : requests) {
            one.pending.wait();
            if (one.size == 0) break;
            found.push_back(decode_snapshot(Bytes(one.value).first(one.size), first + found.size()));
        }
        return found;
    }

    // The reader of the step is told of the damage.
    std::optional<StepSnapshot> look_past_damage(std::uint64_t step)
    {
        try {
            return look(step);
        } catch (const Error& error) {
            if (error.code() != -DER_CSUM && error.code() != -DER_DF_INVAL) throw;
            return StepSnapshot();
        }
    }

    // False: the step is not published.
    template <class Use>
    bool at_snapshot(std::uint64_t step, Use&& use)
    {
        Opened* at = open(step);
        if (at == nullptr) return false;
        const std::uint64_t before = at->layout->requests();
        try {
            use(*at->layout);
        } catch (const Error& error) {
            opened_.clear();
            if (error.code() == -DER_EP_OLD || gone(step)) fail_gone(step);
            throw;
        }
        requests_ += at->layout->requests() - before;
        return true;
    }

    // A step's metadata may need that of a step or two before it.
    Opened* open(std::uint64_t step)
    {
        constexpr std::size_t most = 4;
        const auto known = std::ranges::find(opened_, step, &Opened::step);
        if (known != opened_.end()) {
            opened_.splice(opened_.end(), opened_, known);
            return &opened_.back();
        }
        const auto snapshot = look(step);
        if (!snapshot) return nullptr;
        if (snapshot->gone) fail_gone(step);
        if (opened_.size() == most) opened_.pop_front();
        return &opened_.emplace_back(context_, step, snapshot->epoch, expected_);
    }

    [[noreturn]] static void fail_gone(std::uint64_t step)
    {
        throw Error(-DER_EP_OLD, "step " + std::to_string(step) +
                                     " is gone: its snapshot was removed (`stepstore snapshot aggregate`, or "
                                     "`destroy`); later steps can be read");
    }

    void note_size(const StepMetadata& fetched)
    {
        std::size_t largest = 0;
        for (std::uint32_t rank = 0; rank < fetched.ranks(); ++rank)
            largest = std::max(largest, fetched.of(rank).size());
        expected_ = room_for(largest);
    }

    LayoutContext context_;
    KeyValue side_;
    EventQueue queue_;
    std::size_t expected_ = context_.expected_size;
    std::list<Opened> opened_; // most recently used last; addresses stay
};

// The blocks of a rank's steps lie one after the other. So those before the first step that is kept end
// where its own begin.
void free_data(const Pool& pool, const Container& container, const StreamRecord& segment, std::uint64_t end)
{
    const bool all = segment.closed && end >= segment.steps;
    SnapshotReader reader({pool, container, segment});
    for (std::uint32_t rank = 0; rank < segment.ranks; ++rank) {
        Array array = container.open_array(segment.data_of(rank), {1, segment.data_chunk_size});
        MetadataHeader header;
        std::uint64_t length = 0;
        if (all)
            length = array.size();
        else if (const auto metadata = reader.raw_metadata(end, rank);
                 metadata && inspect_metadata(*metadata, header) == MetadataState::whole)
            length = header.data_base; // else a later call finds more
        const Range range{0, length};
        if (length > 0) array.punch({&range, 1});
    }
}

} // namespace

std::string snapshot_key(std::uint64_t step)
{
    return "Step" + std::to_string(step) + std::string(key_end);
}

std::vector<std::byte> encode_snapshot(std::uint64_t step, const StepSnapshot& snapshot)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    to.fixed(snapshot_magic);
    to.fixed(step);
    to.fixed(snapshot.epoch);
    to.fixed(static_cast<std::uint8_t>(snapshot.gone));
    append_checksum(bytes);
    return bytes;
}

StepSnapshot decode_snapshot(Bytes bytes, std::uint64_t step)
{
    const std::string what = "the record of the snapshot of step " + std::to_string(step);
    const auto body = unseal_end(bytes);
    if (!body)
        throw Error(-DER_CSUM,
                    what + " is damaged: its checksum does not match; this step cannot be read, others can");
    WireReader from(*body, what);
    if (from.fixed<std::uint32_t>() != snapshot_magic || from.fixed<std::uint64_t>() != step)
        from.fail("does not begin with its magic number");
    StepSnapshot snapshot;
    snapshot.epoch = from.fixed<std::uint64_t>();
    snapshot.gone = from.fixed<std::uint8_t>() != 0;
    if (!from.at_end()) from.fail("has bytes left over");
    return snapshot;
}

std::string snapshot_name(const Pool& pool, const StreamRecord& record, std::uint64_t step)
{
    return capabilities_of(pool.location()).own_store ? name_prefix(record) + std::to_string(step) : "";
}

std::unique_ptr<LayoutReader> snapshot_reader(const LayoutContext& context)
{
    return std::make_unique<SnapshotReader>(context);
}

void destroy_step_snapshots(Container& container, const StreamRecord& segment, std::uint64_t from)
{
    const std::vector<SnapshotEntry> all = container.snapshots();
    if (all.empty()) return;
    const std::set<std::uint64_t> published =
        published_epochs(container.key_value(segment.side, Access::read_only), from);
    const std::string prefix = name_prefix(segment);
    std::vector<std::uint64_t> epochs;
    for (const SnapshotEntry& one : all) {
        const auto step = step_of_name(one.name, prefix);
        if (published.contains(one.epoch) || (step && *step >= from)) epochs.push_back(one.epoch);
    }
    container.destroy_snapshots(epochs);
}

std::uint64_t remove_steps(const Pool& pool, Container& container, const StreamRecord& segment,
                           std::uint64_t end)
{
    KeyValue side = container.key_value(segment.side);
    std::set<std::uint64_t> there;
    for (const SnapshotEntry& one : container.snapshots())
        there.insert(one.epoch);
    std::vector<std::uint64_t> epochs;
    std::uint64_t removed = 0;
    for (std::uint64_t step = segment.first_step; step < end; ++step) {
        const auto value = side.get(snapshot_key(step));
        if (!value) continue;
        StepSnapshot snapshot = decode_snapshot(*value, step);
        if (!snapshot.gone) {
            snapshot.gone = true;
            side.put(snapshot_key(step), encode_snapshot(step, snapshot), Condition::must_exist);
            ++removed;
        }
        if (there.contains(snapshot.epoch)) epochs.push_back(snapshot.epoch);
    }
    if (end > segment.first_step) free_data(pool, container, segment, end);
    container.destroy_snapshots(epochs); // last: it also drops what was freed before
    return removed;
}

} // namespace stepstore::steps

// The layout `kv`: a key-value object with a key "Step<N>-Rank<R>" per blob.
//
// 1. A rank stores its blob with one put, which is atomic; no rank waits for another.
// 2. A step is there when all ranks' keys are. A reader that polls asks for one key, the first that it has
//    not seen.
// Keys are never written twice (a stream's object is fresh), so a key that is there stays as it is.
#include "steps/layouts/layout.h"

#include <deque>
#include <optional>

namespace stepstore::steps {

namespace {

class KvWriter final : public LayoutWriter {
public:
    KvWriter(const LayoutContext& context, Communicator& communicator)
        : key_value_(context.container.key_value(context.record.side)),
          rank_(static_cast<std::uint32_t>(communicator.rank()))
    {
    }
    void store(std::uint64_t step, Bytes blob) override
    {
        ++requests_;
        key_value_.put(blob_key(step, rank_), blob);
    }

private:
    KeyValue key_value_;
    std::uint32_t rank_;
};

class KvReader final : public LayoutReader {
public:
    explicit KvReader(const LayoutContext& context)
        : key_value_(context.container.key_value(context.record.side, Access::read_only)),
          queue_(context.pool.event_queue()), asynchronous_(context.gets == Gets::async),
          collector_(context.record.ranks)
    {
    }

    bool fetch(std::uint64_t step, StepBlobs& into) override
    {
        collector_.begin(step);
        if (collector_.missing() < collector_.ranks() && !get(step, collector_.missing())) return false;
        if (asynchronous_)
            get_rest_at_once(step);
        else
            while (collector_.missing() < collector_.ranks())
                if (!get(step, collector_.missing())) return false;
        if (collector_.missing() < collector_.ranks()) return false;
        collector_.finish(into);
        return true;
    }

    std::optional<std::vector<std::byte>> raw_blob(std::uint64_t step, std::uint32_t rank) override
    {
        ++requests_;
        return key_value_.get(blob_key(step, rank));
    }

private:
    bool get(std::uint64_t step, std::uint32_t rank)
    {
        ++requests_;
        const auto size = key_value_.get_into(blob_key(step, rank), collector_.slot(rank));
        if (!size || *size == 0) return false;
        accept(step, rank, *size);
        return true;
    }

    void accept(std::uint64_t step, std::uint32_t rank, std::size_t size)
    {
        if (size > collector_.slot(rank).size())
            collector_.set(rank, fetch_blob(step, rank));
        else
            collector_.set(rank, size);
    }

    void get_rest_at_once(std::uint64_t step)
    {
        struct Request {
            std::uint32_t rank;
            std::string key;
            std::size_t size;
            Pending pending;
        };
        std::deque<Request> requests; // addresses stay
        for (std::uint32_t rank = collector_.missing(); rank < collector_.ranks(); ++rank) {
            if (collector_.has(rank)) continue;
            const MutableBytes slot = collector_.slot(rank);
            Request& request = requests.emplace_back(rank, blob_key(step, rank), slot.size(), Pending{});
            request.pending = key_value_.get_into(queue_, request.key, slot.data(), &request.size);
            ++requests_;
        }
        for (Request& request : requests) {
            try {
                request.pending.wait();
            } catch (const Error& error) {
                if (error.code() != -DER_REC2BIG) throw; // its size is known now
            }
        }
        for (const Request& request : requests)
            if (request.size != 0) accept(step, request.rank, request.size);
    }

    KeyValue key_value_;
    EventQueue queue_;
    bool asynchronous_;
    BlobCollector collector_;
};

} // namespace

const Layout& kv_layout()
{
    static const Layout layout = {
        .name = "kv",
        .number = 2,
        .writer = &make_layout_writer<KvWriter>,
        .reader = &make_layout_reader<KvReader>,
    };
    return layout;
}

} // namespace stepstore::steps

#include "store/rados/announcer.h"

#include "store/rados/host.h"

#include <utility>

namespace stepstore::store::rados {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t answers_within = 1000; // milliseconds, for the watchers of a notify
constexpr unsigned most_under_way = 64;        // notifies
constexpr auto time_to_arrive = 200ms;         // at the end

// A notify that is under way. It keeps what it needs, whatever is closed meanwhile.
struct Notify {
    librados::IoCtx context;
    std::shared_ptr<Announcer::UnderWay> under_way;
    librados::AioCompletion* completion = nullptr;

    void end()
    {
        const std::unique_ptr<Notify> self(this);
        completion->release();
        const std::lock_guard lock(under_way->guard);
        --under_way->count;
        under_way->fewer.notify_all();
    }
};

// What librados calls. It lives until librados has let go of it.
class Watched final : public librados::WatchCtx2, public std::enable_shared_from_this<Watched> {
public:
    Watched(const librados::IoCtx& context, std::string object, Bytes key)
        : context_(context), object_(std::move(object)), key_(as_text(key))
    {
    }

    static std::shared_ptr<Watched> begin(Io& io, const std::string& object, Bytes key)
    {
        const auto watched = std::make_shared<Watched>(io.context(), object, key);
        return io.watch(object, watched, watched->handle_) == 0 ? watched : nullptr;
    }

    // Nobody waits for the cluster, which may be gone. First the watch ends, then the calls that were under
    // way, then this.
    static void end(const std::shared_ptr<Watched>& self)
    {
        const Use here;
        self->stays_ = self;
        if (here.refused()) return;
        self->ending_ =
            librados::Rados::aio_create_completion(self.get(), [](rados_completion_t, void* given) {
                auto* ended = static_cast<Watched*>(given);
                ended->ending_->release();
                ended->ending_ =
                    librados::Rados::aio_create_completion(ended, [](rados_completion_t, void* last) {
                        const auto silent = std::move(static_cast<Watched*>(last)->stays_);
                        silent->ending_->release();
                    });
                ended->rados_.aio_watch_flush(ended->ending_);
            });
        self->context_.aio_unwatch(self->handle_, self->ending_);
    }

    // In a child of a fork: it is the parent's, for good.
    void stay() { stays_ = shared_from_this(); }

    Waiter::Got wait(std::chrono::nanoseconds most)
    {
        std::unique_lock lock(guard_);
        changed_.wait_for(lock, most, [&] { return announced_ || lost_; });
        if (lost_) return Waiter::Got::lost;
        return std::exchange(announced_, false) ? Waiter::Got::announced : Waiter::Got::nothing;
    }

    void handle_notify(std::uint64_t notify, std::uint64_t handle, std::uint64_t, Buffer& text) override
    {
        Buffer answer;
        context_.notify_ack(object_, notify, handle, answer);
        if (to_string(text) == key_) set(announced_);
    }
    void handle_error(std::uint64_t, int) override { set(lost_); }

private:
    void set(bool& what)
    {
        const std::lock_guard lock(guard_);
        what = true;
        changed_.notify_all();
    }

    librados::IoCtx context_;
    librados::Rados& rados_ = cluster();
    const std::string object_, key_;
    std::uint64_t handle_ = 0;
    librados::AioCompletion* ending_ = nullptr;
    std::shared_ptr<Watched> stays_; // itself, while it ends
    std::mutex guard_;               // guards the next two
    bool announced_ = false, lost_ = false;
    std::condition_variable changed_;
};

class RadosWaiter final : public Waiter, NotCopied {
public:
    explicit RadosWaiter(std::shared_ptr<Watched> watched) : watched_(std::move(watched)) {}
    ~RadosWaiter() override
    {
        if (mine())
            Watched::end(watched_);
        else
            watched_->stay();
    }
    Got wait(std::chrono::nanoseconds most) override { return mine() ? watched_->wait(most) : Got::lost; }

private:
    // Not in a child of a fork, which leaves it alone.
    bool mine() const { return generation_ == host().process_generation(); }

    const std::shared_ptr<Watched> watched_;
    const std::uint64_t generation_ = host().process_generation();
};

} // namespace

Announcer::~Announcer()
{
    std::unique_lock lock(under_way_->guard);
    under_way_->fewer.wait_for(lock, time_to_arrive, [&] { return under_way_->count == 0; });
}

void Announcer::send(Bytes key)
{
    const Use here;
    if (here.refused()) return;
    {
        const std::lock_guard lock(under_way_->guard);
        if (under_way_->count == most_under_way) return;
        ++under_way_->count;
    }
    auto* notify = new Notify{index_.io.context(), under_way_};
    notify->completion = librados::Rados::aio_create_completion(
        notify, [](rados_completion_t, void* given) { static_cast<Notify*>(given)->end(); });
    Buffer text = to_buffer(as_text(key));
    const int code =
        notify->context.aio_notify(index_.object, notify->completion, text, answers_within, nullptr);
    if (code < 0) notify->end();
}

std::unique_ptr<Waiter> Announcer::watch(Bytes key)
{
    auto watched = Watched::begin(index_.io, index_.object, key);
    if (!watched) return nullptr;
    return std::make_unique<RadosWaiter>(std::move(watched));
}

} // namespace stepstore::store::rados

// Writing and appending: what all ranks say, the plan that rank 0 makes of it, the data, and the publication.
#include "arrays/plan.h"

#include <cmath>

namespace stepstore::arrays {

namespace {

class WriteRequest final : public Request::State {
public:
    WriteRequest(std::shared_ptr<Store::Session> session, const WriteCall& call, bool in_background)
        : session_(std::move(session)), name_(call.name), in_background_(in_background)
    {
        call_ = std::string(call.append_along ? "append_" : "write_") +
                (call.placement == Placement::one_object ? "array " : "object ") + shown(call.name);
        Group& group = session_->open_group(call_);
        WriteWish wish;
        Memory memory;
        std::exception_ptr fault = call.fault;
        std::vector<std::byte> said;
        if (!fault) {
            try {
                session_->require_writable();
                wish = wish_of(call, session_->options.order, memory);
                said = encode(wish);
            } catch (...) {
                fault = std::current_exception();
            }
        }
        const std::vector<std::byte> plan =
            group.meet(call_, said, fault, [&](std::span<const Bytes> arguments) {
                plan_ = make_plan(*session_, call.name, arguments);
                return encode(*plan_);
            });
        number_ = ++session_->requests;
        DataLayout layout;
        const BlockAddress place = address_of(plan, group.rank(), layout);
        if (in_background) session_->under_way.push_back(this);
        if (is_empty(wish.box, wish.dimensions)) return;
        work_.start(
            [session = session_.get(), wish, memory, place, layout] {
                Array object = session->data_object(place.object, layout);
                Requests requests(*session->queue);
                write_block(requests, object, place.offset, layout, session->transfer_options(),
                            wish.dimensions, wish.box.count, size_of(wish.type), memory);
                requests.finish();
            },
            in_background);
    }
    ~WriteRequest() override { give_up(); }

    void wait() override
    {
        if (given_up_) was_given_up(call_);
        if (ended_) return;
        work_.settle();
        end();
        const std::vector<std::byte> status = status_of(work_.failure());
        const std::string call =
            in_background_ ? "wait of request " + std::to_string(number_) + ", " + call_ : call_;
        // Not known: how much longer than this rank others work. Blocking, all are in the call.
        const double allowance = in_background_ ? 10 * work_.seconds() : HUGE_VAL;
        try {
            session_->open_group(call).meet(
                call, status, nullptr,
                [&](std::span<const Bytes> all) {
                    require_success(all);
                    publish(*session_, *plan_);
                    return std::vector<std::byte>();
                },
                allowance);
        } catch (...) {
            if (plan_) abandon(*session_, *plan_);
            throw;
        }
    }
    bool ready() override { return work_.ready(); }
    void give_up() noexcept override
    {
        if (ended_) return;
        given_up_ = true;
        work_.settle();
        end();
        if (plan_ && session_->container) abandon(*session_, *plan_);
    }
    const std::string& call() const override { return call_; }
    const std::string& writes() const override { return name_; }

private:
    void end()
    {
        ended_ = true;
        std::erase(session_->under_way, this);
    }
    std::shared_ptr<Store::Session> session_;
    std::string name_;
    bool in_background_;
    std::string call_;
    std::uint64_t number_ = 0;
    std::optional<Plan> plan_; // of rank 0
    bool ended_ = false;
    bool given_up_ = false;
    OwnWork work_; // the last: it ends first
};

} // namespace

void Store::write(const WriteCall& call)
{
    WriteRequest(session_.shared(), call, false).wait();
}

Request Store::begin_write(const WriteCall& call)
{
    Request request;
    request.state_ = std::make_shared<WriteRequest>(session_.shared(), call, true);
    return request;
}

} // namespace stepstore::arrays

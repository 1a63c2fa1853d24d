// How a step of a Writer ends: it is decided, its data is stored, and this rank's part is published.
#include "comm/collective.h"
#include "steps/write/writer_impl.h"

namespace stepstore::steps {

// In a handler: tells the others why. In some layouts they wait for this rank's metadata.
void Writer::Impl::give_up(std::uint64_t step)
{
    if (watch) watch->give_up(step, failure_of(std::current_exception()).message);
    if (!layout->collective()) return;
    try {
        layout->abandon(step);
    } catch (const Error&) { // the first error is the one to tell
    }
}

// What the step is. Its data is stored, or kept to be stored beside the program.
void Writer::Impl::decide(const ShapeNow* shape_now)
{
    if (lost != nullptr) std::rethrow_exception(lost);
    if (watch) watch->look(steps);
    if (lease != nullptr) require_held(*lease, opened.location.text());
    perform_puts(true);
    if (beside) {
        name_data([&] { beside->wait(profile); }); // for parts of the step (write_puts)
    } else {
        const Stopwatch time(profile.data, "stepstore.data");
        data->make_durable();
    }
    const Stopwatch time(profile.encode, "stepstore.stabilisation.encode");
    if (shape_now != nullptr) encoder->reshape(steps, *shape_now);
    decided.emplace();
    decided->step = steps;
    decided->metadata = encoder->finish(steps, puts.sums());
    if (agreement) decided->claims = encoder->new_claims();
}

// This rank's part of the decided step, whose data is stored. Beside the program it is called only where the
// layout waits for no other rank. What it uses then is its alone, until the program waits for it.
void Writer::Impl::publish(Costs& costs)
{
    const Stopwatch time(costs.store, "stepstore.stabilisation.store");
    Decided& one = *decided;
    if (lease != nullptr) require_held(*lease, opened.location.text());
    if (agreement) {
        const std::uint64_t requests = agreement->requests();
        agreement->settle(one.step, std::move(one.claims));
        costs.metadata_requests += agreement->requests() - requests;
    }
    for (const Encoder::Copy& copy : encoder->copies()) { // what must be there before the metadata
        if (!layout->store_copy(copy.metadata)) side->put(copy.key, copy.metadata);
        costs.metadata_bytes += copy.metadata.size();
        ++costs.metadata_requests;
    }
    one.storing = true;
    const std::uint64_t requests = layout->requests();
    layout->store(one.step, one.metadata);
    // It may have stood still meanwhile, and the next writer may not have seen this step.
    if (lease != nullptr) require_surely_held(*lease, opened.location.text());
    costs.metadata_bytes += one.metadata.size();
    costs.metadata_requests += layout->requests() - requests;
    one.published = true;
    announce();
}

// In a handler: of what publish() or the work before it has thrown.
void Writer::Impl::give_up(const Decided& one)
{
    if (!one.storing) {
        give_up(one.step);
        throw;
    }
    try {
        throw;
    } catch (const Error& error) { // the layout has told the ranks that it exchanges something with
        if (!watch) throw;
        if (error.code() != -DER_CANCELED) {
            watch->give_up(one.step, error.what());
            throw;
        }
        const std::string reason = watch->reason(one.step);
        const std::string text = error.what();
        throw Error(error.code(), reason.empty() || text == reason ? text : text + ". There: " + reason);
    }
}

// The decided step is published, or lost.
void Writer::Impl::arrive()
{
    failed = true; // until all is done
    try {
        if (beside) beside->wait(profile);
        if (!decided->published) publish(profile);
    } catch (...) {
        const Decided one = std::move(*decided);
        decided.reset();
        steps = one.step;
        give_up(one);
    }
    steps = decided->step + 1;
    profile.end_step(decided->step);
    decided.reset();
    data_end += encoder->data_length();
    failed = false;
}

// With async_write: until the step that end_step has decided on is published.
void Writer::Impl::wait_for_step()
{
    if (!decided) return;
    const std::string which = step_rank(decided->step, static_cast<std::uint32_t>(communicator->rank())) +
                              " of " + opened.location.text();
    try {
        arrive();
    } catch (const Error& error) {
        throw Error(error.code(), which +
                                      ", which was to be stored beside the computation (AsyncWrite), is "
                                      "not stored, and the steps before it are kept: " +
                                      error.what());
    }
}

void Writer::Impl::end_step(const ShapeNow* shape_now)
{
    require_step("end_step");
    in_step = false;
    failed = true; // until all is done
    try {
        decide(shape_now);
        if (beside)
            beside->start(
                puts, layout->meets(steps) ? Beside::Last() : [this](Costs& costs) { publish(costs); });
    } catch (...) {
        decided.reset();
        give_up(steps);
        throw;
    }
    if (!beside) return arrive();
    ++steps;
    failed = false;
}

} // namespace stepstore::steps

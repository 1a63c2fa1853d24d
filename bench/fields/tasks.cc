#include "tasks.h"

#include "eckit/io/DataHandle.h"
#include "eckit/runtime/Main.h"
#include "fdb5/api/FDB.h"
#include "fdb5/api/helpers/FDBToolRequest.h"
#include "fdb5/database/Key.h"
#include "metkit/mars/MarsRequest.h"

#include <memory>
#include <stdexcept>
#include <unistd.h>

namespace stepstore::bench {

namespace {

std::vector<Field> fields_of(const Plan& plan, int number, int step)
{
    std::vector<Field> fields;
    for (int param = 0; param < static_cast<int>(plan.params().size()); ++param)
        for (int level = 0; level < static_cast<int>(plan.levels().size()); ++level)
            fields.push_back({number, step, param, level});
    return fields;
}

int steps_of(const Plan& plan)
{
    return static_cast<int>(plan.steps().size());
}

// A process's FDB with the memory for a message to archive.
class Archive {
public:
    explicit Archive(const Work& work) : work_(work), message_(work.plan.message) {}

    void step(int number, int step)
    {
        for (const Field& field : fields_of(work_.plan, number, step)) {
            work_.plan.say(message_.data(), field);
            if (work_.decode)
                fdb_.archive(message_.data(), message_.size());
            else
                fdb_.archive(fdb5::Key(work_.plan.keys_of(field)), message_.data(), message_.size());
        }
        fdb_.flush();
    }

private:
    const Work& work_;
    fdb5::FDB fdb_;
    std::vector<char> message_;
};

// The memory that fields are retrieved into, so many at once. It is made before the clock starts, and is used
// again.
class Retrieval {
public:
    Retrieval(const Work& work, std::size_t fields)
        : work_(work), checker_(work.plan),
          memory_(fields * work.plan.message.size() + 1) // one more, to see what is too long
    {
    }

    void one(fdb5::FDB& fdb, const Field& field)
    {
        const std::size_t length =
            read(fdb, metkit::mars::MarsRequest("retrieve", work_.plan.keys_of(field)), 1);
        checker_.check(field, memory_.data(), length);
    }

    void many(fdb5::FDB& fdb, const metkit::mars::MarsRequest& request, const std::vector<Field>& fields)
    {
        checker_.check(fields, memory_.data(), read(fdb, request, fields.size()));
    }

private:
    std::size_t read(fdb5::FDB& fdb, const metkit::mars::MarsRequest& request, std::size_t fields)
    {
        const std::size_t size = fields * work_.plan.message.size();
        const std::unique_ptr<eckit::DataHandle> handle(fdb.retrieve(request));
        handle->openForRead();
        std::size_t length = 0;
        while (length <= size) {
            const long got = handle->read(memory_.data() + length, static_cast<long>(size + 1 - length));
            if (got <= 0) break;
            length += static_cast<std::size_t>(got);
        }
        handle->close();
        return length;
    }

    const Work& work_;
    Checker checker_;
    std::vector<char> memory_;
};

metkit::mars::MarsRequest request_of(const Plan& plan, const Field& like)
{
    metkit::mars::MarsRequest request("retrieve", plan.keys_of(like));
    request.values("levelist", texts(plan.levels()));
    return request;
}

} // namespace

void start_fdb()
{
    static std::string name = "stepstore-bench-fields";
    static char* arguments[] = {name.data(), nullptr};
    eckit::Main::initialise(1, arguments);
}

Prepare one_by_one(const Work& work, int number)
{
    return [&work, number] {
        start_fdb();
        return [&work, number, fdb = std::make_shared<fdb5::FDB>(),
                got = std::make_shared<Retrieval>(work, 1)](Shared&) {
            for (int step = 0; step < steps_of(work.plan); ++step)
                for (const Field& field : fields_of(work.plan, number, step))
                    got->one(*fdb, field);
        };
    };
}

Prepare step_by_step(const Work& work, int number)
{
    return [&work, number] {
        start_fdb();
        const auto at_once = static_cast<std::size_t>(work.plan.fields_of_a_step());
        return [&work, number, fdb = std::make_shared<fdb5::FDB>(),
                got = std::make_shared<Retrieval>(work, at_once)](Shared&) {
            for (int step = 0; step < steps_of(work.plan); ++step) {
                auto request = request_of(work.plan, {number, step, 0, 0});
                request.values("param", texts(work.plan.params()));
                got->many(*fdb, request, fields_of(work.plan, number, step));
            }
        };
    };
}

Prepare lister(const Work& work, std::size_t fields)
{
    return [&work, fields] {
        start_fdb();
        return [&work, fields, fdb = std::make_shared<fdb5::FDB>()](Shared&) {
            auto list =
                fdb->list(fdb5::FDBToolRequest(metkit::mars::MarsRequest("retrieve", work.plan.dataset)));
            std::size_t count = 0, bytes = 0;
            for (fdb5::ListElement element; list.next(element); ++count)
                bytes += static_cast<std::size_t>(static_cast<long long>(element.length()));
            if (count != fields || bytes != fields * work.plan.message.size())
                throw std::runtime_error("the list has " + std::to_string(count) + " fields with " +
                                         std::to_string(bytes) + " bytes, not " + std::to_string(fields) +
                                         " fields");
        };
    };
}

Prepare writer(const Work& work, int number)
{
    return [&work, number] {
        start_fdb();
        return [&work, number, archive = std::make_shared<Archive>(work)](Shared& shared) {
            for (int step = 0; step < steps_of(work.plan); ++step) {
                archive->step(number, step);
                shared.written[step] = now();
                ++shared.flushed[step];
            }
        };
    };
}

Prepare slicing_reader(const Work& work, int reader)
{
    return [&work, reader] {
        start_fdb();
        const std::size_t at_once = static_cast<std::size_t>(work.processes) * work.plan.levels().size();
        return [&work, reader, got = std::make_shared<Retrieval>(work, at_once)](Shared& shared) {
            const Plan& plan = work.plan;
            for (int step = 0; step < steps_of(plan); ++step) {
                while (shared.flushed[step] < work.processes) {
                    if (shared.failed) throw std::runtime_error("a writer failed");
                    usleep(100);
                }
                fdb5::FDB fdb; // one that is kept does not see in files what comes later
                for (int param = reader; param < static_cast<int>(plan.params().size());
                     param += work.processes) {
                    auto request = request_of(plan, {work.first, step, param, 0});
                    auto numbers = texts(plan.numbers());
                    numbers = {numbers.begin() + work.first, numbers.begin() + work.first + work.processes};
                    request.values("number", numbers);
                    std::vector<Field> fields;
                    for (int number = work.first; number < work.first + work.processes; ++number)
                        for (int level = 0; level < static_cast<int>(plan.levels().size()); ++level)
                            fields.push_back({number, step, param, level});
                    got->many(fdb, request, fields);
                }
                const std::int64_t done = now();
                for (std::int64_t last = shared.read[step];
                     last < done && !shared.read[step].compare_exchange_weak(last, done);) {
                }
            }
        };
    };
}

std::function<void()> first_retrieve(const Work& work)
{
    return [&work, got = std::make_shared<Retrieval>(work, 1)] {
        fdb5::FDB fdb;
        got->one(fdb, {work.first, steps_of(work.plan) - 1, 0, 0});
    };
}

} // namespace stepstore::bench

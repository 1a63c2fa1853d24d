#include "fields_job.h"

#include "fdb_files.h"
#include "fields/catalogue.h"
#include "fields/session.h"
#include "fields/store_reader.h"
#include "fields/store_writer.h"
#include "job_description.h"
#include "world.h"

#include <daos_errno.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>

namespace stepstore::sim {

namespace {

using bench::Json;

constexpr std::uint64_t most_processes = 1 << 16;
constexpr std::uint64_t most_fields = 1'000'000; // of a process
constexpr std::uint64_t most_size = 1 << 30;
constexpr std::uint64_t marked_from = 4096; // bytes: of larger fields the mark is kept
constexpr std::array stores = {"objects", "files", "shared"};
constexpr std::array patterns = {"separate", "together"};

using namespace fields;

const Key dataset = {
    {"class", "od"}, {"expver", "0001"}, {"stream", "enfo"}, {"date", "20261124"}, {"time", "0000"}};

struct Names {
    Key collocation, element;
};

// Number and level in the collocation key, as the reference found best for DAOS: so each process has indexes
// of its own.
Names names_of(std::uint64_t process, std::uint64_t step, std::uint64_t parameter, std::uint64_t level)
{
    return {{{"type", "pf"},
             {"levtype", "pl"},
             {"number", std::to_string(process)},
             {"levelist", std::to_string(level)}},
            {{"step", std::to_string(step)}, {"param", std::to_string(parameter)}}};
}

Contents::Mark mark_of(std::uint64_t process, std::uint64_t number)
{
    const std::array<std::uint64_t, 2> both = {process, number};
    return Contents::mark_of(both.data());
}

// A process's memory of a field. Only its mark is ever looked at, so its other pages are never there.
class Memory {
public:
    explicit Memory(std::size_t bytes) : bytes_(static_cast<std::byte*>(std::calloc(bytes, 1))), size_(bytes)
    {
        if (!bytes_) throw std::bad_alloc();
    }
    MutableBytes all() const { return {bytes_.get(), size_}; }
    void put(const Contents::Mark& mark) const { std::ranges::copy(mark, bytes_.get()); }
    Contents::Mark mark() const { return Contents::mark_of(bytes_.get()); }

private:
    struct Free {
        void operator()(std::byte* bytes) const { std::free(bytes); }
    };
    std::unique_ptr<std::byte, Free> bytes_;
    std::size_t size_;
};

// What one process did, in virtual seconds.
struct Times {
    double begin = 0, end = 0;
    std::vector<double> steps; // when each had ended
};

class FieldsRun {
public:
    FieldsRun(const Machine& machine, const FieldsJob& job, std::string pool)
        : job_(job), pool_(std::move(pool)),
          world_(machine, job.writers + job.readers,
                 job.store == FieldsJob::Store::shared ? pool_ : std::string()),
          files_(world_.machine(), world_.files()), written_(job.writers), read_(job.readers)
    {
        world_.contents().keep_marks(marked_from);
    }

    Json operator()()
    {
        if (job_.together) {
            std::vector<Times> before(job_.readers);
            start_writers(before, 0);
            world_.run();
            start_writers(written_, job_.readers);
            start_readers(job_.writers);
        } else {
            start_writers(written_, 0);
            world_.run();
            start_readers(0);
        }
        world_.run();
        return {{"engine", "simulated"},
                {"fields", stores.at(static_cast<std::size_t>(job_.store))},
                {"pattern", patterns.at(job_.together ? 1 : 0)},
                {"parameters", job_.settings},
                {"written", summary(written_)},
                {"read", summary(read_)}};
    }

private:
    // first: the number of the first process, which its fields have.
    void start_writers(std::vector<Times>& times, std::uint64_t first)
    {
        for (std::size_t i = 0; i < times.size(); ++i)
            world_.start(i, [this, &mine = times[i], number = first + i] {
                timed(mine, [&] { of_fdb() ? write_files(mine, number) : write(mine, number); });
            });
    }

    // first: the first rank, which says on which node they are.
    void start_readers(std::uint64_t first)
    {
        for (std::size_t i = 0; i < read_.size(); ++i)
            world_.start(first + i, [this, &mine = read_[i], i] {
                timed(mine, [&] { of_fdb() ? read_files(mine, i) : read(mine, i); });
            });
    }

    bool of_fdb() const { return job_.store == FieldsJob::Store::files; }

    static void timed(Times& times, const std::function<void()>& work)
    {
        times.begin = now();
        work();
        times.end = now();
    }

    template <class Each>
    void for_each_field(std::uint64_t process, std::uint64_t step, const Each& each) const
    {
        for (std::uint64_t parameter = 0; parameter < job_.parameters; ++parameter)
            for (std::uint64_t level = 0; level < job_.levels; ++level) {
                const std::uint64_t number = (step * job_.parameters + parameter) * job_.levels + level;
                each(names_of(process, step, parameter, level), mark_of(process, number));
            }
    }

    void write(Times& times, std::uint64_t process)
    {
        const auto session = Session::open_own(pool_, Access::read_write);
        const auto to = session->create(dataset, job_.options.dataset);
        StoreWriter store(to, job_.options.writer);
        CatalogueWriter catalogue(to);
        const Memory memory(job_.size);
        for (std::uint64_t step = 0; step < job_.steps; ++step) {
            for_each_field(process, step, [&](const Names& names, const Contents::Mark& mark) {
                memory.put(mark);
                catalogue.archive(names.collocation, names.element, store.archive(memory.all()), 1);
            });
            store.flush(false);
            catalogue.flush();
            times.steps.push_back(now());
        }
    }

    void read(Times& times, std::uint64_t process)
    {
        const auto session = Session::open_own(pool_, Access::read_only);
        const auto from = session->find(dataset);
        const StoreReader store(from);
        CatalogueReader catalogue(from);
        const Memory memory(job_.size);
        for (std::uint64_t step = 0; step < job_.steps; ++step) {
            for_each_field(process, step, [&](const Names& names, const Contents::Mark& mark) {
                const auto entry = catalogue.find(names.collocation, names.element);
                if (entry) store.read(std::get<FieldLocation>(entry->location), memory.all());
                if (!entry || memory.mark() != mark)
                    throw std::runtime_error("the field " + names.collocation.text() + "," +
                                             names.element.text() + " is not what was written");
            });
            times.steps.push_back(now());
        }
    }

    FdbFiles::Work work(Times& times, std::uint64_t process) const
    {
        return {process, job_.steps, job_.fields_of_a_step(), job_.size,
                [&times](std::uint64_t) { times.steps.push_back(now()); }};
    }
    void write_files(Times& times, std::uint64_t process)
    {
        files_.write(world_.client().node, work(times, process));
    }
    void read_files(Times& times, std::uint64_t process)
    {
        files_.read(world_.client().node, work(times, process));
    }

    Json summary(const std::vector<Times>& all) const
    {
        const double begin = std::ranges::min(all, {}, &Times::begin).begin;
        const double end = std::ranges::max(all, {}, &Times::end).end;
        std::vector<double> ends(job_.steps);
        double process = 0;
        for (const Times& one : all) {
            process += (one.end - one.begin) / static_cast<double>(all.size());
            for (std::size_t step = 0; step < ends.size(); ++step)
                ends[step] += (one.steps[step] - begin) / static_cast<double>(all.size());
        }
        return {{"processes", all.size()},
                {"seconds", end - begin},
                {"bytes", all.size() * job_.steps * job_.fields_of_a_step() * job_.size},
                {"process", process},
                {"ends", ends}};
    }

    const FieldsJob& job_;
    std::string pool_;
    World world_;
    FdbFiles files_;
    std::vector<Times> written_, read_;
};

std::map<std::string, std::string> settings_in(const std::string& text)
{
    std::map<std::string, std::string> settings;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        const std::string one = text.substr(at, end - at);
        const std::size_t equals = one.find('=');
        if (equals == std::string::npos) refuse_job("set: give NAME=VALUE in place of '" + one + "'");
        settings[one.substr(0, equals)] = one.substr(equals + 1);
        at = end + 1;
    }
    return settings;
}

// The place of what was chosen.
std::size_t choice_of(const Json& description, const char* name, std::span<const char* const> choices)
{
    const std::string chosen = text_of(description, name);
    const auto found = std::ranges::find(choices, chosen);
    if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
    std::string all = choices.front();
    for (std::size_t i = 1; i < choices.size(); ++i)
        all += (i + 1 < choices.size() ? ", " : " or ") + std::string(choices[i]);
    refuse_job(std::string(name) + " is '" + chosen + "': give " + all);
}

} // namespace

FieldsJob fields_job_of(const Json& description)
{
    constexpr std::array names = {"fields",     "pattern", "writers", "readers", "steps",
                                  "parameters", "levels",  "size",    "set"};
    require_known(description, names);
    FieldsJob job;
    job.store = static_cast<FieldsJob::Store>(choice_of(description, "fields", stores));
    job.together = choice_of(description, "pattern", patterns) == 1;
    job.writers = count_of(description, "writers", 1, most_processes);
    job.readers = count_of(description, "readers", 1, most_processes);
    job.steps = count_of(description, "steps", 1, most_fields);
    job.parameters = count_of(description, "parameters", 1, most_fields);
    job.levels = count_of(description, "levels", 1, most_fields);
    job.size = count_of(description, "size", marked_from, most_size);
    job.settings = text_of(description, "set");
    if (job.store == FieldsJob::Store::files && !job.settings.empty())
        refuse_job("set: files have no settings of the field engine");
    if (job.readers > job.writers && !job.together)
        refuse_job("readers is " + std::to_string(job.readers) + ", but each reads what one of the " +
                   std::to_string(job.writers) + " writers has written");
    if (job.steps * job.fields_of_a_step() > most_fields)
        refuse_job("steps, parameters and levels give more than " + std::to_string(most_fields) +
                   " fields of a process");
    job.options = parse_options(settings_in(job.settings));
    if (job.size < job.options.dataset.pack_below) job.options.dataset.pack_below = 0; // a field is an object
    return job;
}

void require_memory(const FieldsJob& job)
{
    constexpr double of_process = 256 << 10;
    constexpr std::array<double, 3> of_field = {400, 0, 12 << 10}; // a pool in files lies in memory
    const auto fields = static_cast<double>(job.steps * job.fields_of_a_step());
    require_memory(static_cast<double>(job.writers + job.readers),
                   of_process + fields * of_field.at(static_cast<std::size_t>(job.store)), 0,
                   "processes with so many fields");
}

Json simulate(const Machine& machine, const FieldsJob& job, const std::string& directory)
{
    const std::string pool = directory + "/pool";
    Pool::create((job.store == FieldsJob::Store::shared ? "shared:" : "") + pool,
                 {.label = "", .targets = 4, .durability = Durability::process});
    return FieldsRun(machine, job, pool)();
}

} // namespace stepstore::sim

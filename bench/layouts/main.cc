// The experiment of the first reference on ranks of MPI: one stream, written once, and read once or several
// times.
#include "common/command_line.h"
#include "common/with_mpi.h"
#include "layouts/bp5.h"
#include "layouts/points.h"
#include "layouts/summary.h"
#include "location/find/location.h"
#include "stepstore/error.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

namespace stepstore::bench {
namespace {

constexpr double patience = 60; // seconds, for a step and for a stream

struct Options {
    std::uint64_t writers = 2, readers = 0, steps = 100;
    std::string size = "5k", engine = "stepstore", location = "layouts", parameters;
    std::vector<std::string> readings; // each as parameters
    bool live = false, together = false, list = false, check = false, mean = false;
};

CommandLine command_line(Options& options)
{
    CommandLine line(
        "stepstore-bench-layouts", "[OPTIONS]     (an MPI program of WRITERS + READERS ranks)",
        "Each writer rank writes metadata in every step. Reader ranks read the steps, afterwards\n"
        "or meanwhile. Each rank takes the time of end_step (stabilisation) and begin_step (acquisition).\n"
        "All metadata that is read is compared with what was written, outside of these times. Prints JSON.\n"
        "`stepstore bench layouts` runs it for each point of the design space and for BP5 in turn.");
    line.number("writers", "ranks that write (default: 2)", options.writers, 1, 1 << 20);
    line.number("readers", "ranks that read (default: as many as write)", options.readers, 1, 1 << 20);
    line.number("steps", "steps (default: 100)", options.steps, 1, 100'000'000);
    line.text(
        "size", "SIZE|LEAST..MOST|@FILE",
        "bytes of metadata, also with k or M: of all, from the one to the other, or one in each line of a "
        "file (default: 5k)",
        options.size);
    line.text("engine", "stepstore|bp5", "what writes and reads (default: stepstore)", options.engine);
    line.text("location", "LOCATION", "where the stream goes, or the file of BP5 (default: layouts)",
              options.location);
    line.option("set", "NAME=VALUE,...", "parameters of the stream, such as Layout=kv (default: none)",
                [&](const std::string& list) {
                    options.parameters += (options.parameters.empty() ? "" : ",") + list;
                });
    line.option("read", "NAME=VALUE,...", "parameters of a reading; each --read is one",
                [&](const std::string& list) { options.readings.push_back(list); });
    line.flag("live", "readers follow the writers, instead of reading after them",
              [&] { options.live = true; });
    line.flag("together", "the ranks wait for each other before each step", [&] { options.together = true; });
    line.flag("list", "print the points of the design space as JSON, and end", [&] { options.list = true; });
    line.flag("check", "look at the options and end; needs no MPI", [&] { options.check = true; });
    line.flag("mean", "print the mean size of a rank's metadata, and end", [&] { options.mean = true; });
    line.example("Measure two writers, and a reader that follows them",
                 "mpirun -n 3 stepstore-bench-layouts --writers 2 --readers 1 --live");
    line.example("Measure another layout, with 1 MiB of metadata in a step",
                 "mpirun -n 4 stepstore-bench-layouts --size 1M --set Layout=kv");
    return line;
}

// One stream and all that is done with it.
struct Plan {
    Experiment experiment;
    std::vector<StreamOptions> streams; // one for each reading; the writer's is the same in all
    bool bp5 = false;
};

// Throws for whatever cannot be run.
Plan plan_of(const Options& options)
{
    Plan plan{{options.steps, static_cast<std::uint32_t>(options.writers), MetadataSizes(options.size),
               options.together},
              {},
              options.engine == "bp5"};
    if (!plan.bp5 && options.engine != "stepstore")
        throw std::runtime_error("there is no engine '" + options.engine + "': give stepstore or bp5");
    if (plan.bp5 && !have_bp5) open_bp5_writer({}, MPI_COMM_NULL);
    if (plan.bp5 && (!options.parameters.empty() || !options.readings.empty()))
        throw std::runtime_error("parameters of a stream do not go with BP5");
    if (options.live && options.readings.size() > 1)
        throw std::runtime_error("--live: give one --read, for a stream can be followed once");
    for (const std::string& reading :
         options.readings.empty() ? std::vector<std::string>{""} : options.readings) {
        StreamOptions stream;
        stream.reader.open_timeout = options.live ? patience : 0;
        set_parameters(stream, options.parameters);
        set_parameters(stream, reading);
        check_options(stream.writer);
        check_options(stream.reader);
        plan.streams.push_back(stream);
    }
    return plan;
}

// What the targets of the pool have served, from the first look to the second.
class Targets {
public:
    explicit Targets(std::string location) : location_(std::move(location)) {}
    void look()
    {
        const std::vector<TargetInfo> now = describe_pool(resolve_location(location_).pool).targets;
        for (std::size_t i = 0; first_ && i < now.size(); ++i)
            served_.push_back({0, 0, now[i].updates - (*first_)[i].updates,
                               now[i].fetches - (*first_)[i].fetches,
                               now[i].bytes_written - (*first_)[i].bytes_written,
                               now[i].bytes_read - (*first_)[i].bytes_read});
        first_ = now;
    }
    const std::vector<TargetInfo>& served() const { return served_; }

private:
    std::string location_;
    std::optional<std::vector<TargetInfo>> first_;
    std::vector<TargetInfo> served_;
};

class Run {
public:
    Run(const Options& options, const Plan& plan) : options_(options), plan_(plan)
    {
        int rank = 0, size = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        if (static_cast<std::uint64_t>(size) != options.writers + options.readers)
            throw std::runtime_error(std::to_string(options.writers) + " writers and " +
                                     std::to_string(options.readers) + " readers need as many ranks, not " +
                                     std::to_string(size) + ": start it with mpirun");
        writes_ = static_cast<std::uint64_t>(rank) < options.writers;
        MPI_Comm_split(MPI_COMM_WORLD, writes_ ? 0 : 1, rank, &mpi_side_);
        const MPI_Comm all = MPI_COMM_WORLD;
        world_ = mpi_communicator(&all);
        side_ = mpi_communicator(&mpi_side_);
    }
    ~Run() { MPI_Comm_free(&mpi_side_); }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    // On rank 0, what to print; elsewhere null. Collective.
    Json operator()()
    {
        Json readings = Json::array();
        std::vector<Measured> writers;
        Measured mine;
        if (writes_) mine = write();
        if (!options_.live) world_->barrier(); // the readers begin when the stream is closed
        for (std::size_t i = 0; i < plan_.streams.size(); ++i) {
            if (!writes_) mine = read(plan_.streams[i]);
            std::vector<Measured> all = gather_times(*world_, mine); // here the writers wait
            if (all.empty()) continue;
            const auto middle = all.begin() + static_cast<std::ptrdiff_t>(options_.writers);
            writers.assign(all.begin(), middle);
            readings.push_back(described(writers, {middle, all.end()}, i));
        }
        if (world_->rank() != 0) return {};
        Json found = description(writers);
        found["readings"] = readings;
        return found;
    }

private:
    Measured write()
    {
        Targets targets(options_.location);
        const auto open = [&] {
            return plan_.bp5 ? open_bp5_writer(options_.location, mpi_side_)
                             : open_writer(options_.location, plan_.streams.front().writer, side_);
        };
        RankTimes times = write_steps(plan_.experiment, *side_, open, look(targets));
        return {std::move(times), targets.served()};
    }

    Measured read(const StreamOptions& stream)
    {
        Targets targets(options_.location);
        const auto open = [&] {
            return plan_.bp5 ? open_bp5_reader(options_.location, patience, mpi_side_)
                             : open_reader(options_.location, stream.reader, patience, side_);
        };
        RankTimes times = read_steps(plan_.experiment, *side_, open, look(targets));
        return {std::move(times), targets.served()};
    }

    Look look(Targets& targets) const
    {
        if (plan_.bp5 || !capabilities_of(options_.location).own_store) return {};
        return [&targets] { targets.look(); };
    }

    Json described(const std::vector<Measured>& writers, const std::vector<Measured>& readers,
                   std::size_t reading) const
    {
        Json one = {{"parameters", options_.readings.empty() ? "" : options_.readings[reading]}};
        one["acquisition"] =
            options_.live ? Json(nullptr) : acquisition(readers, plan_.experiment, plan_.bp5);
        one["latency"] = options_.live ? latency(writers, readers) : Json(nullptr);
        one["targets"] = targets(readers);
        return one;
    }

    Json description(const std::vector<Measured>& writers) const
    {
        return {{"engine", options_.engine},
                {"parameters", options_.parameters},
                {"writers", options_.writers},
                {"readers", options_.readers},
                {"steps", options_.steps},
                {"size", options_.size},
                {"rank_bytes", rank_bytes(plan_.experiment)},
                {"metadata_bytes", metadata_bytes(writers)},
                {"live", options_.live},
                {"stabilisation", stabilisation(writers, plan_.experiment)},
                {"targets", targets(writers)},
                {"space", space()}};
    }

    // Of the pool, as the store reports it; bytes.
    Json space() const
    {
        if (plan_.bp5 || !capabilities_of(options_.location).own_store) return nullptr;
        std::uint64_t index = 0, bulk = 0;
        for (const TargetInfo& target : describe_pool(resolve_location(options_.location).pool).targets) {
            index += target.index_bytes;
            bulk += target.bulk_bytes;
        }
        return {{"index_bytes", index}, {"bulk_bytes", bulk}};
    }

    const Options& options_;
    const Plan& plan_;
    bool writes_ = false;
    MPI_Comm mpi_side_ = MPI_COMM_NULL;
    std::shared_ptr<Communicator> world_, side_;
};

} // namespace
} // namespace stepstore::bench

int main(int argc, char** argv)
{
    using namespace stepstore::bench;
    Options options;
    const CommandLine line = command_line(options);
    if (!line.parse(argc, argv).empty()) line.refuse("give options only");
    if (options.readers == 0) options.readers = options.writers;
    if (options.list) return std::puts(space_as_json().c_str()) < 0 ? 1 : 0;
    std::optional<Plan> plan;
    try {
        plan = plan_of(options);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "stepstore-bench-layouts: %s\n", error.what());
        return 2;
    }
    if (options.mean) std::printf("%.1f\n", plan->experiment.sizes.mean());
    if (options.check || options.mean) return 0;
    return with_mpi(argc, argv, "stepstore-bench-layouts", [&] {
        Run run(options, *plan);
        const Json found = run();
        if (!found.is_null()) std::puts(found.dump().c_str());
    });
}

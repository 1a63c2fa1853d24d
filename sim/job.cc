#include "job.h"

#include "communicator.h"
#include "files_library.h"
#include "stepstore/error.h"
#include "world.h"

#include <daos_errno.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

namespace stepstore::sim {

namespace {

using bench::Json;
using bench::Measured;

constexpr double patience = 1e6; // virtual seconds, for a step

// Whether each reader rank is simulated: it reads for itself.
bool each_reads(const Machine& machine, const Job& job)
{
    const steps::Readers readers = job.stream.reader.readers;
    return readers == steps::Readers::everyone || (readers == steps::Readers::automatic && machine.is_one());
}

// Each rank has an array open.
void require_open_files(const Machine& machine, const Job& job)
{
    if (machine.is_one())
        refuse_job("on one machine a pool in files is not simulated: give a cluster with processors=0");
    constexpr std::uint64_t of_rank = 1, others = 256;
    const std::uint64_t ranks = std::max<std::uint64_t>(job.experiment.writers, job.readers);
    const std::uint64_t needed = of_rank * ranks + others;
    struct rlimit limit {};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
    struct rlimit wanted = {needed, std::max<rlim_t>(needed, limit.rlim_max)};
    if (setrlimit(RLIMIT_NOFILE, &wanted) == 0) return;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= needed) return;
    refuse_job("it needs " + std::to_string(needed) + " open files, and this process may have " +
               std::to_string(limit.rlim_max) + ": raise the limit (ulimit -n), or give fewer ranks");
}

} // namespace

// All metadata is kept. A rank has its stack, what it has open, and its metadata in four places. Arrays
// without a size of their own need numbers of all ranks on each.
void require_memory(const Machine& machine, const Job& job)
{
    constexpr double of_rank = 200 << 10, copies = 4;
    const auto steps = static_cast<double>(job.experiment.steps);
    const double metadata = job.experiment.sizes.mean();
    const bool each = each_reads(machine, job);
    const double ranks = job.experiment.writers;
    const double of_reader = each ? of_rank + copies * metadata * ranks : 0;
    if (job.in_files) require_open_files(machine, job);
    require_memory(ranks, of_rank + (steps + 2 * copies) * metadata,
                   of_reader * static_cast<double>(job.readers), "writers with so many steps");
}

namespace {

// ---- the run

// Writes its extent of each step into one dense array, without any stream: the reference's own benchmark of
// daos_array_write (figure 11).
class ExtentWriter final : public bench::StepWriter {
public:
    ExtentWriter(const std::string& pool, std::uint64_t stride, const Communicator& ranks)
        : pool_(Pool::connect(pool)), container_(pool_.open_or_create_container("extents")),
          array_(container_.open_array(container_.object_id(1, 0, ObjectType::array_bytes, "SX"),
                                       ArrayAttributes())),
          at_(static_cast<std::uint64_t>(ranks.rank()) * stride),
          step_(static_cast<std::uint64_t>(ranks.size()) * stride)
    {
    }
    void begin_step(std::string_view metadata) override { metadata_ = metadata; }
    void end_step() override
    {
        array_.write(at_, std::as_bytes(std::span(metadata_.data(), metadata_.size())));
        at_ += step_;
    }
    void close() override {}

private:
    Pool pool_;
    Container container_;
    Array array_;
    std::uint64_t at_, step_;
    std::string_view metadata_;
};

// On one machine: a rank with its own work on metadata, which waits for a processor.
class BusyWriter final : public bench::StepWriter {
public:
    BusyWriter(std::unique_ptr<bench::StepWriter> writer, World& world)
        : writer_(std::move(writer)), world_(world)
    {
    }
    void begin_step(std::string_view metadata) override
    {
        bytes_ = static_cast<double>(metadata.size());
        writer_->begin_step(metadata);
    }
    void end_step() override
    {
        world_.storage().work(world_.client(),
                              world_.machine().encode + bytes_ / world_.machine().encode_bandwidth);
        writer_->end_step();
    }
    void close() override { writer_->close(); }
    steps::Costs costs() const override { return writer_->costs(); }

private:
    std::unique_ptr<bench::StepWriter> writer_;
    World& world_;
    double bytes_ = 0;
};

class BusyReader final : public bench::StepReader {
public:
    BusyReader(std::unique_ptr<bench::StepReader> reader, World& world, const bench::Experiment& experiment)
        : reader_(std::move(reader)), world_(world),
          work_(world.machine().decode +
                experiment.writers * (world.machine().decode_metadata +
                                      experiment.sizes.mean() / world.machine().decode_bandwidth))
    {
    }
    bool begin_step() override
    {
        const bool there = reader_->begin_step();
        if (there) world_.storage().work(world_.client(), work_);
        return there;
    }
    std::string_view metadata(std::uint32_t writer) override { return reader_->metadata(writer); }
    void end_step() override { reader_->end_step(); }
    void close() override { reader_->close(); }
    steps::Costs costs() const override { return reader_->costs(); }

private:
    std::unique_ptr<bench::StepReader> reader_;
    World& world_;
    double work_;
};

class Run {
public:
    Run(const Machine& machine, const Job& job, std::string pool)
        : job_(job), pool_(std::move(pool)), location_(pool_ + "/simulation/stream"),
          world_(machine, std::max<std::uint64_t>(job.experiment.writers, job.readers),
                 job.in_files ? pool_ : std::string()),
          writers_(job.experiment.writers)
    {
    }

    Json operator()()
    {
        start(communicators(world_.machine(), writers_.size()),
              [this](std::size_t rank, auto ranks) { write(rank, std::move(ranks)); });
        const std::vector<TargetCount> written = world_.storage().counts();
        const FileCounts written_files = file_counts();
        if (job_.readers > 0) {
            const bool each = each_reads(world_.machine(), job_);
            readers_.resize(each ? job_.readers : 1);
            start(each ? communicators(world_.machine(), job_.readers)
                       : std::vector{alone_for_all(world_.machine(), job_.readers)},
                  [this](std::size_t rank, auto ranks) { read(rank, std::move(ranks)); });
        }
        Json found = description(written);
        if (job_.in_files) {
            found["files"] = {{"of_stream", files_there()},
                              {"written", asked({}, written_files)},
                              {"read", asked(written_files, file_counts())}};
        }
        return found;
    }

private:
    using Ranks = std::vector<std::shared_ptr<Communicator>>;

    // Runs the work on each rank, until all have ended.
    void start(const Ranks& ranks,
               const std::function<void(std::size_t, std::shared_ptr<Communicator>)>& work)
    {
        for (std::size_t rank = 0; rank < ranks.size(); ++rank)
            world_.start(rank, [&work, rank, mine = ranks[rank]] { work(rank, mine); });
        world_.run();
    }

    void write(std::size_t rank, std::shared_ptr<Communicator> ranks)
    {
        const auto open = [&] {
            std::unique_ptr<bench::StepWriter> writer;
            if (job_.stride != 0)
                writer = std::make_unique<ExtentWriter>(pool_, job_.stride, *ranks);
            else
                writer = bench::open_writer(location_, job_.stream.writer, ranks);
            if (world_.machine().is_one()) writer = std::make_unique<BusyWriter>(std::move(writer), world_);
            return writer;
        };
        writers_[rank].times = bench::write_steps(job_.experiment, *ranks, open, {});
    }

    void read(std::size_t rank, std::shared_ptr<Communicator> ranks)
    {
        const auto open = [&] {
            auto reader = bench::open_reader(location_, job_.stream.reader, patience, ranks);
            if (world_.machine().is_one())
                reader = std::make_unique<BusyReader>(std::move(reader), world_, job_.experiment);
            return reader;
        };
        readers_[rank].times = bench::read_steps(job_.experiment, *ranks, open, {});
    }

    Json description(const std::vector<TargetCount>& written)
    {
        Json found = {{"engine", "simulated"},
                      {"parameters", job_.parameters},
                      {"writers", job_.experiment.writers},
                      {"readers", job_.readers},
                      {"steps", job_.experiment.steps},
                      {"rank_bytes", bench::rank_bytes(job_.experiment)},
                      {"metadata_bytes", bench::metadata_bytes(writers_)},
                      {"stabilisation", bench::stabilisation(writers_, job_.experiment)},
                      {"targets", served(std::vector<TargetCount>(written.size()), written)},
                      {"readings", Json::array()}};
        if (job_.readers > 0)
            found["readings"].push_back(
                {{"parameters", job_.reading},
                 {"acquisition", bench::acquisition(readers_, job_.experiment, false)},
                 {"targets", served(written, world_.storage().counts())}});
        return found;
    }

    // From one look to the other.
    static Json served(const std::vector<TargetCount>& before, const std::vector<TargetCount>& after)
    {
        Json all = Json::array();
        for (std::size_t i = 0; i < after.size(); ++i)
            all.push_back({{"requests", after[i].requests - before[i].requests},
                           {"short_of_buffers", after[i].short_of_buffers - before[i].short_of_buffers},
                           {"busy_seconds", after[i].busy - before[i].busy}});
        return all;
    }

    // Of all ranks, from one look to the other.
    static Json asked(const FileCounts& before, const FileCounts& after)
    {
        return {{"looks", after.looks - before.looks},          {"changes", after.changes - before.changes},
                {"listings", after.listings - before.listings}, {"reads", after.reads - before.reads},
                {"writes", after.writes - before.writes},       {"syncs", after.syncs - before.syncs}};
    }

    // Names in the pool, without directories.
    std::uint64_t files_there() const
    {
        std::uint64_t count = 0;
        for (const auto& one : std::filesystem::recursive_directory_iterator(pool_))
            count += one.is_directory() && !one.is_symlink() ? 0 : 1;
        return count;
    }

    const Job& job_;
    std::string pool_, location_;
    World world_;
    std::vector<Measured> writers_, readers_;
};

} // namespace

Json simulate(const Machine& machine, const Job& job, const std::string& directory)
{
    const std::string pool = directory + "/pool";
    Pool::create((job.in_files ? "shared:" : "") + pool,
                 {.label = "", .targets = 4, .durability = Durability::process});
    return Run(machine, job, pool)();
}

} // namespace stepstore::sim

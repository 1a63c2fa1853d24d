// Damage is named with step and rank, costs only what it hits, and is found by the check.
#include "steps/altered_metadata.h"
#include "steps/check/check.h"
#include "steps/model.h"
#include "steps/stream/stream_list.h"
#include "support/report.h"
#include "support/temporary.h"
#include "support/thread_group.h"

#include <filesystem>
#include <random>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::run_ranks;
using stepstore::testing::TemporaryDirectory;

class Damage : public ::testing::TestWithParam<std::string> {
protected:
    static constexpr std::uint64_t steps = 6;
    std::uint64_t hit_step = 2;
    static constexpr std::uint32_t hit_rank = 1;
    TemporaryDirectory directory;
    std::string location = directory / "pool";
    Model model{3};
    WriterOptions options = options_of(GetParam());
    // What one rank stores for several is damaged as a whole.
    const bool alone = options.ranks_per_aggregator < 2;
    const std::string named = alone ? "rank 1" : "ranks 0 to 1";
    const std::string first_named = alone ? " rank 1" : " rank 0";

    void write()
    {
        run_ranks(model.ranks, [&](std::shared_ptr<Communicator> communicator) {
            Writer writer(location, options, communicator);
            for (std::uint64_t step = 0; step < steps; ++step)
                model.write_step(writer, communicator->rank());
            writer.close();
        });
    }

    // Changes the metadata of hit_step and hit_rank where it lies.
    void alter_metadata(const std::function<void(std::vector<std::byte>&)>& change) const
    {
        AlteredMetadata(hit_step, hit_rank).change(location, change);
    }

    void expect_only_hit_step_is_lost()
    {
        run_ranks(2, [&](std::shared_ptr<Communicator> communicator) {
            ReaderOptions reading;
            Reader reader(location, reading, communicator);
            for (std::uint64_t step = 0; step < steps; ++step) {
                if (step == hit_step) {
                    try {
                        reader.begin_step(0);
                        ADD_FAILURE() << "the damage was not seen";
                    } catch (const Error& error) {
                        const std::string text = error.what();
                        EXPECT_TRUE(error.code() == -DER_CSUM || error.code() == -DER_DF_INVAL) << text;
                        EXPECT_NE(text.find("step " + std::to_string(hit_step)), std::string::npos) << text;
                        EXPECT_NE(text.find(named), std::string::npos) << text;
                    }
                    continue;
                }
                ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
                ASSERT_EQ(reader.current_step(), step);
                model.check_step(reader, step);
                reader.end_step();
            }
            EXPECT_EQ(reader.begin_step(0), StepStatus::end_of_stream);
        });
        ReaderOptions random;
        random.mode = ReadMode::random_access;
        Reader reader(location, random, self_communicator());
        EXPECT_THROW(reader.variables(hit_step), Error);
        model.check_step(reader, steps - 1);
        const StreamReport report = check_streams(location, true);
        EXPECT_TRUE(report.damaged());
        EXPECT_EQ(report.streams.at(0).damaged_steps, 1u) << report;
        EXPECT_EQ(report.streams.at(0).whole_steps, steps - 1) << report;
        ASSERT_FALSE(report.findings.empty());
        EXPECT_NE(report.findings[0].where.find("step " + std::to_string(hit_step) + first_named),
                  std::string::npos)
            << report;
        EXPECT_FALSE(report.findings[0].advice.empty());
    }
};

TEST_P(Damage, NothingIsFoundInAGoodStream)
{
    write();
    const StreamReport report = check_streams(location, true);
    EXPECT_FALSE(report.damaged()) << report;
    EXPECT_TRUE(report.findings.empty()) << report;
    ASSERT_EQ(report.streams.size(), 1u);
    EXPECT_EQ(report.streams[0].whole_steps, steps);
    EXPECT_GT(report.streams[0].data_bytes, 0u);
    EXPECT_TRUE(report.streams[0].closed);
}

TEST_P(Damage, AFlippedByteInMetadataIsNamed)
{
    write();
    alter_metadata([](std::vector<std::byte>& metadata) { metadata[metadata.size() - 3] ^= std::byte{4}; });
    expect_only_hit_step_is_lost();
}

// The first step brings what all later ones refer to.
TEST_P(Damage, ADamagedFirstStepTakesNoOtherWithIt)
{
    hit_step = 0;
    write();
    alter_metadata([](std::vector<std::byte>& metadata) {
        std::fill(metadata.begin() + 8, metadata.end(), std::byte{0x5a});
    });
    expect_only_hit_step_is_lost();
}

TEST_P(Damage, AFlippedByteInAHeaderIsNamed)
{
    write();
    alter_metadata([](std::vector<std::byte>& metadata) { metadata[20] ^= std::byte{1}; });
    expect_only_hit_step_is_lost();
}

TEST_P(Damage, ZerosForMetadataInAClosedStreamIsALostStep)
{
    write();
    alter_metadata([](std::vector<std::byte>& metadata) { std::ranges::fill(metadata, std::byte{0}); });
    Reader reader(location, {}, self_communicator());
    for (std::uint64_t step = 0; step < steps; ++step) {
        if (step == hit_step) {
            EXPECT_THROW(reader.begin_step(0), Error);
            continue;
        }
        ASSERT_EQ(reader.begin_step(0), StepStatus::ok) << step;
        reader.end_step();
    }
    EXPECT_TRUE(check_streams(location, false).damaged());
}

TEST_P(Damage, DataThatIsMissingIsNamedAndTheRestIsRead)
{
    write();
    {
        const OpenedStream opened = find_stream(location);
        const Pool pool = Pool::connect(opened.location.pool);
        const Container container = pool.open_container(opened.location.container);
        if (GetParam() == "posix")
            std::filesystem::resize_file(
                std::string(segment_directory(pool.location(), opened.record) / "blocks.2"), 200);
        else
            container.open_array(opened.record.data_of(2), {1, opened.record.data_chunk_size}).set_size(200);
    }
    ReaderOptions random;
    random.mode = ReadMode::random_access;
    Reader reader(location, random, self_communicator());
    std::vector<double> cells(model.all_rows(5) * model.columns);
    const auto field = *reader.find("field");
    try {
        reader.get(field, Dims{0, 0}, Dims{model.all_rows(5), model.columns}, cells.data(), Mode::sync, 5);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), -DER_CSUM);
        EXPECT_NE(std::string(error.what()).find("rank 2"), std::string::npos) << error.what();
    }
    reader.get(field, Dims{0, 0}, Dims{model.rows(5, 0), model.columns}, cells.data(), Mode::sync,
               5); // rank 0's rows
    EXPECT_EQ(cells[0], Model::cell(5, 0, 0));
    EXPECT_EQ(reader.get_string(*reader.find("text"), 0, 5), model.text(5, 0));
    const StreamReport report = check_streams(location, false);
    EXPECT_TRUE(report.damaged());
    ASSERT_FALSE(report.findings.empty());
    EXPECT_NE(report.findings.back().where.find("rank 2"), std::string::npos) << report;
}

TEST_P(Damage, AHalfStepOfAWriterThatDiedIsNoDamage)
{
    if (ranks_wait(GetParam())) GTEST_SKIP() << "the ranks of a step wait for each other";
    run_ranks(model.ranks, [&](std::shared_ptr<Communicator> communicator) {
        Writer writer(location, options, communicator);
        for (int step = 0; step < (communicator->rank() == 1 ? 2 : 3); ++step)
            model.write_step(writer, communicator->rank());
        communicator->barrier(); // nobody leaves while another is at its last step, which would be refused
    });
    const StreamReport report = check_streams(location, true);
    EXPECT_FALSE(report.damaged()) << report;
    EXPECT_EQ(report.streams.at(0).whole_steps, 2u);
    EXPECT_EQ(report.streams.at(0).half_steps, 1u);
    EXPECT_FALSE(report.streams.at(0).closed);
}

TEST_P(Damage, ADamagedRecordIsNamedAndTheStreamCanBeWrittenAnew)
{
    write();
    {
        const Pool pool = Pool::connect(location);
        const Container container = pool.open_container("default");
        KeyValue list = container.key_value(stream_list_id(container));
        std::vector<std::byte> record = list.get("main").value();
        record[record.size() / 2] ^= std::byte{16};
        list.put("main", record);
    }
    EXPECT_THROW(Reader(location, {}, self_communicator()), Error);
    EXPECT_TRUE(check_streams(location, false).damaged());
    write();
    Reader reader(location, {}, self_communicator());
    EXPECT_EQ(reader.begin_step(0), StepStatus::ok);
    const StreamReport report = check_streams(location, false);
    EXPECT_FALSE(report.damaged()) << report;
    if (GetParam() != "posix") { // the objects that nothing refers to any more
        ASSERT_EQ(report.findings.size(), 1u) << report;
        EXPECT_EQ(report.findings[0].severity, Finding::Severity::reclaimable);
    }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Damage, ::testing::ValuesIn(all_designs), name_of_design);

// A pool in files does not verify the cells of arrays. The metadata of a step has their checksums. So each
// byte of each block is verified, however the block was put and whatever part of it is read.
TEST(DamageInFiles, OfAnyByteOfTheDataIsFound)
{
    const TemporaryDirectory directory;
    const std::string location = "shared:" + (directory / "pool");
    const std::map<std::string, std::uint64_t> blocks = {
        {"small", 100}, {"several pieces", 20'000}, {"now", 300'000}, {"span", 5'000}, {"direct", 700'000}};
    constexpr std::uint64_t steps = 2;
    {
        Writer writer(location, WriterOptions(), self_communicator());
        for (std::uint64_t step = 0; step < steps; ++step) {
            writer.begin_step();
            std::vector<std::vector<double>> kept;
            for (const auto& [name, count] : blocks) {
                const auto id = writer.define(name, Type::float64, ShapeKind::global_array);
                kept.emplace_back(count);
                std::iota(kept.back().begin(), kept.back().end(), static_cast<double>(step));
                if (name == "span") {
                    const auto span = writer.put_span(id, Dims{count}, Dims{0}, Dims{count});
                    std::memcpy(span.data(), kept.back().data(), span.size());
                } else {
                    writer.put(id, Dims{count}, Dims{0}, Dims{count}, kept.back().data(),
                               name == "now" ? Mode::sync : Mode::deferred);
                }
            }
            writer.end_step();
        }
        writer.close();
    }
    const Pool pool = Pool::connect(location);
    const Container container = pool.open_container("default");
    const auto record = StreamList(container, "", Access::read_only).find("main");
    ASSERT_TRUE(record);
    Array data = container.open_array(record->data_of(0), {1, record->data_chunk_size}, Access::read_write);
    const auto flip = [&](std::uint64_t at) {
        std::byte one{};
        const Range place{at, 1};
        const MutableBytes memory(&one, 1);
        data.read({&place, 1}, {&memory, 1});
        one ^= std::byte{4};
        const Bytes written(memory);
        data.write({&place, 1}, {&written, 1});
    };
    // How many of the gets of elements around the middle, and of whole blocks, find damage.
    const auto damaged = [&](bool whole) {
        ReaderOptions random;
        random.mode = ReadMode::random_access;
        Reader reader(location, random, self_communicator());
        std::vector<std::string> found;
        for (std::uint64_t step = 0; step < steps; ++step)
            for (const auto& [name, count] : blocks) {
                const std::uint64_t number = whole ? count : 2;
                const std::uint64_t first = whole ? 0 : count / 2;
                std::vector<double> values(number);
                try {
                    reader.get(*reader.find(name), Dims{first}, Dims{number}, values.data(), Mode::sync,
                               step);
                    EXPECT_EQ(values[1], static_cast<double>(step + first + 1)) << name;
                } catch (const Error& error) {
                    EXPECT_EQ(error.code(), -DER_CSUM) << error.what();
                    found.push_back(name + " of step " + std::to_string(step));
                }
            }
        return found;
    };
    EXPECT_TRUE(damaged(true).empty());
    EXPECT_FALSE(check_streams(location, true).damaged());
    std::mt19937_64 random(5);
    std::uint64_t hits = 0;
    for (int round = 0; round < 40; ++round) {
        const std::uint64_t at = random() % data.size();
        flip(at);
        const auto found = damaged(true);
        const auto near = damaged(false);
        EXPECT_LE(near.size(), found.size());
        if (!found.empty()) ++hits;
        if (round < 4) {
            EXPECT_EQ(check_streams(location, true).damaged(), !found.empty());
        }
        flip(at);
        if (HasFailure()) return;
    }
    EXPECT_GE(hits, 35U) << "only between two steps there is a gap";
    EXPECT_TRUE(damaged(true).empty());
}

} // namespace
} // namespace stepstore::steps::testing

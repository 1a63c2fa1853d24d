// The example records of the format documents are what the program writes, byte by byte. In a document, the
// table behind the comment "example: NAME" has the bytes in its first column, as `01 ff`.
#include "arrays/record.h"
#include "fields/row_record.h"
#include "steps/layouts/layout.h"
#include "steps/layouts/reference/step_snapshots.h"
#include "steps/metadata/encoder.h"
#include "steps/stream/stream_list.h"
#include "store/keys.h"
#include "store/record.h"
#include "support/temporary.h"
#include "support/thread_group.h"

#include <gtest/gtest.h>

#include <fstream>

namespace stepstore {
namespace {

std::string hex(Bytes bytes)
{
    std::string text;
    for (const std::byte byte : bytes) {
        char two[4];
        std::snprintf(two, sizeof two, "%02x ", std::to_integer<unsigned>(byte));
        text += two;
    }
    return text;
}

// The first column of a row of bytes, as hex() gives them; empty where the line is no such row.
std::string bytes_in(const std::string& line)
{
    if (!line.starts_with("| `")) return {};
    const std::size_t end = line.find_first_not_of("0123456789abcdef ", 3);
    if (end == 3 || end == std::string::npos || line.compare(end, 3, "` |") != 0) return {};
    return line.substr(3, end - 3) + " ";
}

// The bytes in the table of an example; empty where there is no such example.
std::string documented(const char* document, const std::string& example)
{
    std::ifstream file(std::string(STEPSTORE_DOCS) + "/" + document);
    std::string text;
    bool found = false;
    for (std::string line; std::getline(file, line);) {
        if (line == "<!-- example: " + example + " -->")
            found = true;
        else if (found && line.starts_with("#"))
            break;
        else if (found && !text.empty() && !line.starts_with("|"))
            break;
        else if (found)
            text += bytes_in(line);
    }
    return text;
}

void expect_documented(const char* document, const std::string& example, Bytes written)
{
    EXPECT_EQ(documented(document, example), hex(written)) << document << ": example " << example;
}

std::vector<std::byte> copy(Bytes bytes)
{
    return {bytes.begin(), bytes.end()};
}

TEST(Examples, RecordOfAKeyValue)
{
    using namespace store;
    // Object 7 of class S1 in the first container of a pool.
    const store::ObjectId oid{0x0801000100000000, 7};
    KeyBuffer key = kind_prefix(Space::live, 1, oid, Kind::keyvalue);
    key.add(StoredKey(as_bytes(std::string_view("title"))).view());
    expect_documented("format.md", "key", key.view());

    const Bytes payload[] = {as_bytes(std::string_view("first run"))};
    NewRecord record;
    record.birth = 1'700'000'000'000'000'000;
    record.length = payload[0].size();
    record.payload_sum = checksum_of(payload);
    record.pieces = payload;
    std::vector<std::byte> value(record.stored_size());
    record.encode(key.view(), value);
    expect_documented("format.md", "value", value);

    Record parsed;
    EXPECT_EQ(parse_record(key.view(), value, parsed), nullptr);
}

TEST(Examples, RecordAndMetadataOfAStream)
{
    using namespace steps;
    constexpr std::uint64_t keyvalue = 0x0801ffff53530002;
    constexpr std::uint64_t array = 0x0d01ffff53530002;
    StreamRecord record;
    record.generation = 16;
    record.origin = 16;
    record.layout = layout_named("array-aligned").number;
    record.ranks = 2;
    record.chunk_size = 4096;
    record.object_class = "SX";
    record.data_chunk_size = 1 << 20;
    record.data_object_class = "SX";
    record.side = {keyvalue, 16};
    record.metadata = {array, 17};
    record.data = {array, 18};
    record.writer_host = "node1";
    record.writer_process = 4711;
    record.created = 1'700'000'000;
    expect_documented("format-stream.md", "stream record", encode_record(record));

    // Step 0 of rank 1: the second half of an array of 8 doubles, and one value.
    Encoder encoder(16, 1, true);
    const VariableId temperature = encoder.define("T", Type::float64, ShapeKind::global_array);
    const VariableId time = encoder.define("time", Type::float64, ShapeKind::global_value);
    encoder.begin_step(0);
    const std::uint64_t shape[] = {8}, start[] = {4}, count[] = {4};
    std::byte* slot = encoder.minmax_slot(encoder.add_block(temperature, shape, start, count, 32));
    const double range[] = {1.0, 2.0};
    std::memcpy(slot, range, sizeof range);
    const double now = 0.5;
    encoder.add_value(time, &now);
    expect_documented("format-stream.md", "metadata of a rank", copy(encoder.finish(0)));
}

TEST(Examples, SnapshotOfAStep)
{
    using namespace steps;
    expect_documented("format-stream.md", "step snapshot", encode_snapshot(7, {0x18aa112233440000, false}));
}

// Two ranks store metadata of 1,000 and 5,000 bytes in the first step: what lies in the side object then.
TEST(Examples, SizesAndSlotsOfAStep)
{
    using namespace steps;
    const stepstore::testing::TemporaryDirectory directory;
    const Pool pool = Pool::connect_or_create(directory / "pool");
    Container container = pool.create_container("test");
    for (const auto& [layout, key, example] :
         {std::tuple{"array", "Step0", "sizes of a step"},
          std::tuple{"array-adaptive", "Step0-Slots", "slots of a row"}}) {
        StreamRecord record;
        record.layout = layout_named(layout).number;
        record.ranks = 2;
        record.chunk_size = 4096;
        record.data_chunk_size = 4096;
        assign_objects(container, record);
        stepstore::testing::run_ranks(2, [&](std::shared_ptr<Communicator> communicator) {
            std::vector<std::byte> metadata(communicator->rank() == 0 ? 1000 : 5000);
            MetadataHeader header;
            seal_metadata(header, metadata);
            open_layout_to_write({pool, container, record}, *communicator)->store(0, metadata);
        });
        expect_documented("format-stream.md", example, container.key_value(record.side).get(key).value());
    }
}

TEST(Examples, RecordOfARowOfFields)
{
    using namespace fields;
    RowRecord row;
    row.writer = 3;
    PageBuilder page([&](BuiltPart&& part) {
        row.firsts.push_back(part.first);
        row.inside = std::move(part.bytes);
    });
    page.add("step=0,param=130", {false, FieldLocation{4, 0, 200}, 1'700'000'000});
    page.add("step=0,param=131", {false, FieldLocation{4, 200, 200}, 1'700'000'000});
    row.summary = page.finish();
    expect_documented("format-fields.md", "row record", encode_row(row));
}

TEST(Examples, HeaderOfAnArray)
{
    using namespace arrays;
    Header header;
    header.name = "T";
    header.version = 1;
    header.generation = 16;
    header.type = {Kind::real64};
    header.dimensions = 2;
    header.shape = {4, 6};
    header.layout.object_class = "SX";
    header.objects = {{16, 1}};
    const std::vector<StoredBlock> blocks{{{{0, 0}, {2, 6}}, 16, 0}, {{{2, 0}, {2, 6}}, 16, 128}};
    header.tables = {{0, 0, 2, encode_table(blocks, 2)}};
    header.next_table = 1;
    expect_documented("format-arrays.md", "array header", arrays::encode(header));
}

} // namespace
} // namespace stepstore

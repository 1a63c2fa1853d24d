#include "damage/reference_pool.h"

#include "base/checksum.h"
#include "steps/read/reader.h"
#include "steps/write/writer.h"
#include "stepstore/admin.h"

#include <algorithm>
#include <array>
#include <daos_errno.h>

namespace stepstore::testing {

namespace {

constexpr ArrayAttributes attributes{1, 3000};
constexpr std::uint64_t array_cells = 12'000;
constexpr std::uint64_t piece = 400; // cells that are read at once
constexpr std::size_t large = 70'000;

std::vector<std::byte> content(std::size_t size, std::uint64_t seed)
{
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::byte>((seed * 0x9e3779b97f4a7c15ULL + i * 0xbf58476d1ce4e5b9ULL) >> 40);
    return bytes;
}

std::string key_name(unsigned number)
{
    return "key-" + std::to_string(10000 + number);
}

// Of the version that a key has from the beginning, after the first snapshot, after the second.
std::vector<std::byte> value_of(unsigned number, unsigned version)
{
    return content(10 + number % 37 + (number % 50 == 7 ? 3000 : 0), number * 8 + version);
}

ObjectId keys_of(const Container& container)
{
    return container.object_id(1, 0, ObjectType::key_value, "SX");
}

ObjectId large_values_of(const Container& container)
{
    return container.object_id(2, 0, ObjectType::key_value, "S1");
}

ObjectId array_of(const Container& container, std::uint64_t number)
{
    return container.object_id(10 + number, 0, ObjectType::array, number == 0 ? "SX" : "S1");
}

void write_stream(const std::string& pool)
{
    steps::WriterOptions options;
    options.layout = "posix";
    options.profile = false;
    steps::Writer writer(pool + "/stream/run", options, self_communicator());
    const auto field = writer.define("field", steps::Type::float64, steps::ShapeKind::global_array);
    for (int step = 0; step < 3; ++step) {
        writer.begin_step();
        std::vector<double> cells(1500, step + 0.25);
        writer.put(field, steps::Dims{1500}, steps::Dims{0}, steps::Dims{1500}, cells.data(),
                   steps::Mode::sync);
        writer.end_step();
    }
    writer.close();
}

std::string digest(Bytes bytes)
{
    return std::to_string(bytes.size()) + " bytes, " + std::to_string(checksum(bytes));
}

bool absent(const Error& error)
{
    return error.code() == -DER_NONEXIST || error.code() == -DER_EXIST;
}

} // namespace

Reference make_pool(const std::string& path, unsigned shape)
{
    Reference made{shape};
    Pool::create(path, {.label = "reference", .targets = made.targets(), .durability = Durability::process});
    const Pool pool = Pool::connect(path);
    Container container = pool.create_container("main");
    for (const char* label : {"another", "empty"})
        pool.create_container(label);
    Container another = pool.open_container("another");
    KeyValue keys = container.key_value(keys_of(container));
    KeyValue values = container.key_value(large_values_of(container));
    for (unsigned i = 0; i < made.keys(); i += 2) // half of them: the others were never there
        keys.put(key_name(i), value_of(i, 0));
    for (unsigned i = 0; i < 3; ++i)
        values.put(key_name(i), content(large + i, i));
    another.key_value(keys_of(another)).put(key_name(0), value_of(0, 5));
    Array array = container.create_array(array_of(container, 0), attributes);
    array.write(0, content(array_cells / 2, 100));
    Array pieces = container.create_array(array_of(container, 1), attributes);
    for (std::uint64_t at = 0; at < array_cells; at += 600)
        pieces.write(at, content(300, at));
    Array bulk = container.create_array(array_of(container, 2), {1, 1 << 20});
    bulk.write(0, content(large, 101));
    made.first = container.create_snapshot("first");
    for (unsigned i = 0; i < made.keys(); i += 10)
        keys.put(key_name(i), value_of(i, 1));
    keys.remove(key_name(12));
    values.put(key_name(1), content(large, 11));
    array.write(1000, content(500, 102));
    array.write(5000, content(3000, 103));
    for (std::uint64_t at = 100; at < array_cells; at += 2400)
        pieces.write(at, content(700, at));
    bulk.write(20'000, content(30'000, 104));
    another.create_snapshot("of another");
    another.key_value(keys_of(another)).put(key_name(0), value_of(0, 6));
    made.second = container.create_snapshot("second");
    for (unsigned i = 0; i < made.keys(); i += 20)
        keys.put(key_name(i), value_of(i, 2));
    const Range hole{1200, 300};
    array.punch({&hole, 1});
    pieces.set_size(array_cells + 500);
    container.create_array(array_of(container, 3), attributes).write(50, content(40, 105));
    if (shape == 2) write_stream(path);
    // A container that goes again leaves pages in the list of free ones.
    const Container gone = pool.create_container("gone");
    KeyValue many = gone.key_value(keys_of(gone));
    for (unsigned i = 0; i < 300; ++i)
        many.put(key_name(i), value_of(i, 7));
    pool.destroy_container("gone", true);
    return made;
}

OpenedPool::OpenedPool(const std::string& path, const Reference& reference)
    : path_(path), reference_(reference)
{
    try {
        opened_container();
    } catch (const Error&) { // the first questions tell
    }
}

Pool& OpenedPool::opened_pool()
{
    if (!pool_) pool_ = Pool::connect(path_);
    return *pool_;
}

Container& OpenedPool::opened_container()
{
    if (!container_) container_ = opened_pool().open_container("main");
    return *container_;
}

void OpenedPool::ask(const std::string& name, bool of_one_record,
                     const std::function<std::string()>& question)
{
    questions_.push_back({name, of_one_record});
    try {
        answers_.push_back(question());
    } catch (const Error& error) {
        answers_.push_back(absent(error) ? "absent" : error_answer);
    }
}

std::vector<std::string> OpenedPool::answers()
{
    questions_.clear();
    answers_.clear();
    const auto container = [&]() -> Container& { return opened_container(); };
    ask("containers", false, [&] {
        std::vector<std::string> labels;
        for (const ContainerEntry& one : opened_pool().containers())
            labels.push_back(one.label);
        std::ranges::sort(labels);
        std::string all;
        for (const std::string& label : labels)
            all += label + " ";
        return all;
    });
    for (const char* label : {"main", "another", "empty", "gone", "never"})
        ask(std::string("container ") + label, true,
            [&] { return opened_pool().open_container(label).label(); });
    ask("snapshots", false, [&] {
        std::string all;
        for (const SnapshotEntry& one : container().snapshots())
            all += one.name + " ";
        return all;
    });
    ask_at("", [&] { return opened_pool().open_container("main"); });
    ask_at(" at first", [&] { return container().at_snapshot(reference_.first); });
    ask_at(" at second", [&] { return container().at_snapshot(reference_.second); });
    ask("another's key", true, [&] {
        const Container another = opened_pool().open_container("another");
        const auto value = another.key_value(keys_of(another)).get(key_name(0));
        return value ? digest(*value) : "absent";
    });
    if (reference_.shape == 2) ask_stream();
    return answers_;
}

void OpenedPool::ask_at(const std::string& at, const std::function<Container()>& container)
{
    std::optional<Container> opened;
    std::optional<KeyValue> keys, values;
    const auto open = [&]() -> Container& {
        if (!opened) opened = container();
        return *opened;
    };
    const auto get = [&](std::optional<KeyValue>& object, ObjectId (*id)(const Container&), unsigned number) {
        if (!object) object = open().key_value(id(open()), Access::read_only);
        const auto value = object->get(key_name(number));
        return value ? digest(*value) : "absent";
    };
    // At the snapshots every key that has another version there, and some of the others.
    for (unsigned i = 0; i < reference_.keys(); i += at.empty() || i % 10 == 0 ? 1 : i % 10 == 4 ? 6 : 3)
        ask(key_name(i) + at, true, [&] { return get(keys, keys_of, i); });
    for (unsigned i = 0; i < 4; ++i)
        ask("large " + key_name(i) + at, true, [&] { return get(values, large_values_of, i); });
    ask("keys" + at, false, [&] {
        std::vector<std::string> names = open().key_value(keys_of(open()), Access::read_only).list();
        std::ranges::sort(names);
        std::string all;
        for (const std::string& name : names)
            all += name + "\n";
        return digest(as_bytes(all));
    });
    for (std::uint64_t number = 0; number < 5; ++number) {
        const std::string name = "array " + std::to_string(number) + at;
        std::optional<Array> array;
        const auto opened_array = [&]() -> const Array& {
            if (!array) array = open().open_array(array_of(open(), number), Access::read_only);
            if (!array) throw Error(-DER_NONEXIST, "no array");
            return *array;
        };
        ask(name + ", size", false, [&] { return std::to_string(opened_array().size()); });
        const std::uint64_t end = number == 2 ? large : array_cells;
        for (std::uint64_t cell = 0; cell < end; cell += number == 2 ? 10'000 : piece) {
            ask(name + ", cells from " + std::to_string(cell), number == 3, [&] {
                std::vector<std::byte> cells(number == 2 ? 10'000 : piece);
                opened_array().read(cell, cells);
                return digest(cells);
            });
        }
    }
}

void OpenedPool::ask_stream()
{
    for (std::uint64_t step = 0; step < 3; ++step) {
        ask("stream, step " + std::to_string(step), true, [&] {
            steps::ReaderOptions options;
            options.mode = steps::ReadMode::random_access;
            steps::Reader reader(path_ + "/stream/run", options, self_communicator());
            const auto field = reader.find("field");
            if (!field) return std::string("absent");
            std::vector<double> cells(1500);
            reader.get(*field, steps::Dims{0}, steps::Dims{1500}, cells.data(), steps::Mode::sync, step);
            const auto minmax = reader.minmax(*field, step);
            return digest(std::as_bytes(std::span(cells))) + (minmax ? " with minmax" : "");
        });
    }
}

int OpenedPool::update()
{
    int failed = 0;
    const auto attempt = [&](const std::function<void()>& change) {
        try {
            change();
        } catch (const Error&) {
            ++failed;
        }
    };
    const auto container = [&]() -> Container& { return opened_container(); };
    for (unsigned i = 17; i < reference_.keys(); i += 17) // over some, and between them; key 0 comes last
        attempt([&] { container().key_value(keys_of(container())).put(key_name(i), value_of(i, 3)); });
    for (unsigned i = 4; i < reference_.keys(); i += 58)
        if (i % 17 != 0) // each key is changed once, so that an update that failed leaves one answer
            attempt([&] { container().key_value(keys_of(container())).remove(key_name(i)); });
    attempt(
        [&] { container().key_value(large_values_of(container())).put(key_name(2), content(large, 30)); });
    attempt(
        [&] { container().key_value(large_values_of(container())).put(key_name(3), content(large, 31)); });
    const auto write = [&](std::uint64_t number, std::uint64_t cell, std::size_t length) {
        attempt([&, number, cell, length] {
            auto array = container().open_array(array_of(container(), number));
            if (array) array->write(cell, content(length, cell));
        });
    };
    write(0, 1100, 50);
    write(0, 9000, 100);
    write(1, 3333, 1500);
    write(2, 10'000, 5000);
    attempt([&] { opened_pool().create_container("fresh"); });
    attempt([&] { container().create_snapshot("third"); });
    attempt([&] { container().key_value(keys_of(container())).put(key_name(0), value_of(0, 4)); });
    return failed;
}

} // namespace stepstore::testing

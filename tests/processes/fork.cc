// Every kind of state that a process has of its own (OwnState in base/own_state.h) over a fork: at each call
// that the parent makes of the library, and after the parent went on. The child ends, it is refused or works
// on its own, and harms nothing of its parent's. A new OwnState does not compile here before it has a case.
#include "arrays/arrays.h"
#include "blobs/blobs.h"
#include "client/lease.h"
#include "fields/fixture.h"
#include "fields/writer.h"
#include "steps/read/reader.h"
#include "steps/write/writer.h"
#include "support/faulty_library.h"
#include "support/processes.h"

#include <daos.h>
#include <daos_fs.h>
#include <deque>
#include <memory>
#include <set>
#include <thread>

namespace stepstore::testing {
namespace {

constexpr unsigned child_seconds = 60; // then it hangs
constexpr int most_forks = 40;         // of one kind

// A kind of state, as its users meet it. Rounds are numbered from 0.
class Kind {
public:
    Kind() = default;
    virtual ~Kind() = default;
    Kind(const Kind&) = delete;
    Kind& operator=(const Kind&) = delete;
    virtual bool has_threads() const { return false; } // which make calls too
    virtual void prepare(int) {}                       // in the parent
    virtual void work(int round) = 0; // in a thread of the parent, stopped at one of its calls
    virtual void in_child(int round) = 0;
    virtual void check(int rounds) = 0; // in the parent, at the end
};

void require(bool holds, const std::string& what)
{
    if (!holds) throw std::runtime_error("not so: " + what);
}

void require_refused(const std::string& call, const std::function<void()>& body)
{
    const Error error = error_of(body);
    require(error.code() == -DER_NO_HDL && std::string(error.what()).find("forked") != std::string::npos,
            call + " is refused: " + error.what());
}

class Arrays : public Kind {
protected:
    static constexpr std::int64_t elements = 5000;

    arrays::WriteCall call(int round)
    {
        std::vector<double>& values = kept.emplace_back(elements);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = value(round, i);
        return {.name = "A" + std::to_string(round),
                .type = {arrays::Kind::real64},
                .shape = {elements},
                .data = values.data()};
    }
    static double value(int round, std::size_t i) { return round * 1e6 + static_cast<double>(i); }
    void check_all(int rounds) const
    {
        arrays::Store reader(location, arrays::Mode::read, self_communicator());
        EXPECT_EQ(reader.list().size(), static_cast<std::size_t>(rounds));
        for (int round = 0; round < rounds; ++round) {
            std::vector<double> found(elements);
            reader.read({.name = "A" + std::to_string(round),
                         .type = {arrays::Kind::real64},
                         .dimensions = 1,
                         .data = found.data()});
            for (std::size_t i = 0; i < found.size(); ++i)
                ASSERT_EQ(found[i], value(round, i)) << "array " << round;
        }
    }
    void require_all_refused()
    {
        require_refused("write", [&] { store->write(call(0)); });
        require_refused("begin_write", [&] { store->begin_write(call(0)); });
        require_refused("read", [&] { store->read({.name = "A0", .type = {arrays::Kind::real64}}); });
        require_refused("begin_read",
                        [&] { store->begin_read({.name = "A0", .type = {arrays::Kind::real64}}); });
        require_refused("inquire", [&] { store->inquire("A0"); });
        require_refused("blocks", [&] { store->blocks("A0"); });
        require_refused("remove", [&] { store->remove("A0"); });
        require_refused("list", [&] { store->list(); });
        require_refused("set_attribute", [&] { store->set_attribute("A0", "a", {}); });
        require_refused("sync", [&] { store->sync(); });
        require_refused("close", [&] { store->close(); });
    }

    TemporaryDirectory directory;
    std::string location = directory / "pool";
    std::deque<std::vector<double>> kept;
    std::unique_ptr<arrays::Store> store =
        std::make_unique<arrays::Store>(location, arrays::Mode::write, self_communicator());
};

class ArrayLocation final : public Arrays {
    void work(int round) override { store->write(call(round)); }
    void in_child(int) override
    {
        require_all_refused();
        store.reset();
    }
    void check(int rounds) override
    {
        store->close();
        check_all(rounds);
    }
};

class ArrayRequest final : public Arrays {
    void work(int round) override
    {
        request.wait();
        request = store->begin_write(call(round + 1));
    }
    void in_child(int) override
    {
        require_refused("wait", [&] { request.wait(); });
        require_refused("ready", [&] { request.ready(); });
        request = arrays::Request();
        store.reset();
    }
    void check(int rounds) override
    {
        request.wait();
        store->close();
        check_all(rounds + 1);
    }
    arrays::Request request = store->begin_write(call(0));
};

class Leases final : public Kind {
    void prepare(int) override
    {
        if (!lease) lease.emplace(make());
    }
    void work(int) override
    {
        require(!lease->take(), "the parent takes it");
        require(lease->say(as_bytes("note")) && lease->still_held(), "the parent has it");
    }
    void in_child(int) override
    {
        require_refused("take", [&] { lease->take(); });
        require_refused("say", [&] { lease->say({}); });
        require_refused("still_held", [&] { lease->still_held(); });
        require_refused("remove", [&] { lease->remove(); });
        lease.reset();
    }
    void check(int) override
    {
        require(lease->say(as_bytes("note")) && lease->still_held(), "the parent still has it");
    }
    Lease make() const
    {
        const Container container = Pool::connect_or_create(location).open_or_create_container("default");
        return {container.key_value(container.object_id(0, 0, ObjectType::key_value)), "lease", 30};
    }
    TemporaryDirectory directory;
    std::string location = directory / "pool";
    std::optional<Lease> lease;
};

// A lease that the parent has let go of, and that is not gone.
class LeasesLetGo final : public Kind {
    void work(int) override {}
    void in_child(int) override
    {
        require(state_of(parents) == LeaseState::held, "the parent's is not the child's");
        require(state_of(let_go("childs")) == LeaseState::free, "the child knows its own");
    }
    void check(int) override { EXPECT_EQ(state_of(parents), LeaseState::free); }
    LeaseRecord let_go(const std::string& key) const
    {
        const Container container = Pool::connect_or_create(location).open_or_create_container("default");
        const KeyValue object = container.key_value(container.object_id(0, 0, ObjectType::key_value));
        Lease lease(container.key_value(object.id()), key);
        require(!lease.take(), "it is free");
        Late::one().puts = key;
        lease.give_back();
        Late::one().disarm();
        Late::one().kept.clear();
        return decode_lease(object.get(key).value());
    }
    TemporaryDirectory directory;
    std::string location = directory / "pool";
    LeaseRecord parents = let_go("parents");
};

// State that nothing of this program's has: a child has its own, also if its lock is held.
template <OwnState kind>
class Anew final : public Kind {
    struct State {
        std::mutex mutex;
        int value = 0;
    };
    void work(int) override { ++state->value; }
    void in_child(int) override
    {
        require(state->mutex.try_lock() && state->value == 0, "the child's own, which nobody holds");
        state->value = -1;
        require(state->value == -1, "the child's stays");
    }
    void check(int rounds) override { EXPECT_EQ(state->value, rounds); }
    PerProcess<kind, State> state{[] { return std::make_unique<State>(); }};
    std::unique_lock<std::mutex> held{state->mutex};
};

class StreamWriter final : public Kind {
    void prepare(int) override
    {
        if (!writer) writer.emplace(location, steps::WriterOptions(), self_communicator());
    }
    void work(int round) override
    {
        writer->begin_step();
        const auto id = writer->define("x", steps::Type::int32, steps::ShapeKind::global_value);
        writer->put_value(id, &round);
        writer->end_step();
    }
    void in_child(int) override
    {
        require_refused("begin_step", [&] { writer->begin_step(); });
        require_refused("put_value", [&] { writer->put_value(0, nullptr); });
        require_refused("end_step", [&] { writer->end_step(); });
        require_refused("close", [&] { writer->close(); });
        writer.reset();
    }
    void check(int rounds) override
    {
        writer->close();
        steps::Reader reader(location, {}, self_communicator());
        for (int round = 0; round < rounds; ++round) {
            ASSERT_EQ(reader.begin_step(0), steps::StepStatus::ok);
            int found = -1;
            reader.get_value(*reader.find("x"), &found);
            EXPECT_EQ(found, round);
            reader.end_step();
        }
        EXPECT_EQ(reader.begin_step(0), steps::StepStatus::end_of_stream);
    }
    TemporaryDirectory directory;
    std::string location = directory / "stream";
    std::optional<steps::Writer> writer;
};

// One that writes beside the program: the process forks while the thread is in any call, too.
class StreamWriterBeside final : public Kind {
    bool has_threads() const override { return true; }
    void prepare(int) override
    {
        if (writer) return;
        steps::WriterOptions options;
        options.async_write = true;
        writer.emplace(location, options, self_communicator());
        writer->begin_step();
    }
    // The next begin_step waits for the thread.
    void work(int round) override
    {
        const auto id = writer->define("x", steps::Type::int32, steps::ShapeKind::global_array);
        const std::vector<int> values(elements, round);
        writer->put(id, extent, start, extent, values.data());
        writer->end_step();
        writer->begin_step();
    }
    void in_child(int) override
    {
        require_refused("put_value", [&] { writer->put_value(0, nullptr); });
        require_refused("end_step", [&] { writer->end_step(); });
        require_refused("begin_step", [&] { writer->begin_step(); });
        require_refused("close", [&] { writer->close(); });
        writer.reset();
    }
    void check(int rounds) override
    {
        writer->close(); // ends the last step, which has nothing
        steps::Reader reader(location, {}, self_communicator());
        for (int round = 0; round < rounds; ++round) {
            ASSERT_EQ(reader.begin_step(0), steps::StepStatus::ok);
            std::vector<int> found(elements, -1);
            reader.get(*reader.find("x"), start, extent, found.data(), steps::Mode::sync);
            EXPECT_EQ(found, std::vector<int>(elements, round));
            reader.end_step();
        }
        EXPECT_EQ(reader.begin_step(0), steps::StepStatus::ok);
        reader.end_step();
        EXPECT_EQ(reader.begin_step(0), steps::StepStatus::end_of_stream);
    }
    static constexpr std::uint64_t elements = 100'000; // too many for work without a thread
    const std::vector<std::uint64_t> extent{elements};
    const std::vector<std::uint64_t> start{0};
    TemporaryDirectory directory;
    std::string location = directory / "stream";
    std::optional<steps::Writer> writer;
};

class StreamReader final : public Kind {
public:
    StreamReader()
    {
        steps::Writer writer(location, {}, self_communicator());
        for (int step = 0; step <= most_forks + 1; ++step) {
            writer.begin_step();
            const auto id = writer.define("x", steps::Type::int32, steps::ShapeKind::global_array);
            const std::vector<int> values(elements, step);
            writer.put(id, extent, start, extent, values.data(), steps::Mode::sync);
            writer.end_step();
        }
        writer.close();
        reader.emplace(location, steps::ReaderOptions(), self_communicator());
    }

private:
    void work(int round) override
    {
        ASSERT_EQ(reader->begin_step(0), steps::StepStatus::ok);
        std::vector<int> found(elements);
        reader->get(*reader->find("x"), start, extent, found.data());
        reader->end_step();
        EXPECT_EQ(found, std::vector<int>(elements, round));
    }
    void in_child(int) override
    {
        require_refused("begin_step", [&] { reader->begin_step(0); });
        require_refused("steps", [&] { reader->steps(); });
        require_refused("find", [&] { reader->find("x"); });
        require_refused("lock", [&] { const auto held = reader->lock(); });
        require_refused("perform_gets", [&] { reader->perform_gets(); });
        require_refused("close", [&] { reader->close(); });
        reader.reset();
    }
    void check(int) override { reader->close(); }

    static constexpr std::uint64_t elements = 1000;
    const std::vector<std::uint64_t> extent{elements};
    const std::vector<std::uint64_t> start{0};
    TemporaryDirectory directory;
    std::string location = directory / "stream";
    std::optional<steps::Reader> reader;
};

using namespace fields;
using namespace fields::testing;

class FieldKind : public Kind {
protected:
    FieldKind() { create_pool(location, "lmdb"); }
    ~FieldKind() override
    {
        session.reset();
        Session::release();
    }
    static std::string expver(const char* whose, int round) { return whose + std::to_string(1000 + round); }
    TemporaryDirectory directory;
    std::string location = directory / "pool";
    std::shared_ptr<Session> session;
};

class FieldSessions final : public FieldKind {
    void prepare(int) override { Session::release(); }
    void work(int round) override
    {
        Session::open(location, Access::read_write)->create(dataset_key(expver("p", round)));
    }
    void in_child(int round) override
    {
        const auto own = Session::open(location, Access::read_write);
        own->create(dataset_key(expver("c", round)));
    }
    void check(int rounds) override
    {
        const auto own = Session::open(location, Access::read_write);
        for (int round = 0; round < rounds; ++round) {
            EXPECT_TRUE(own->find(dataset_key(expver("p", round))));
            EXPECT_TRUE(own->find(dataset_key(expver("c", round))));
        }
    }
};

class FieldSession final : public FieldKind {
    void prepare(int) override { session = Session::open_own(location, Access::read_write); }
    void work(int round) override { session->create(dataset_key(expver("p", round))); }
    void in_child(int round) override { session->create(dataset_key(expver("c", round))); }
    void check(int rounds) override
    {
        for (int round = 0; round < rounds; ++round) {
            EXPECT_TRUE(session->find(dataset_key(expver("p", round))));
            EXPECT_TRUE(session->find(dataset_key(expver("c", round))));
        }
    }
};

// Parent and child archive and flush, each its own fields. kept: the parent has its writers all the time.
template <bool kept>
class FieldsArchived final : public FieldKind {
    static constexpr int child_number = 7000; // of collocations
    static std::vector<std::byte> data(int number, int step)
    {
        return pattern(300, static_cast<std::uint64_t>(number) * 1000 + static_cast<std::uint64_t>(step));
    }
    static void archive(Fields& to, int number, int step)
    {
        to.archive(collocation_key(number), element_key(step), data(number, step));
    }
    void prepare(int round) override
    {
        if (!session) session = Session::open_own(location, Access::read_write);
        if (!kept || !parents) {
            const auto key = dataset_key(expver("p", kept ? 0 : round));
            parents = std::make_unique<Fields>(all.emplace_back(session->create(key)));
        }
        if (kept) archive(*parents, round, 0); // waits in a pack
    }
    void work(int round) override
    {
        archive(*parents, round, 1);
        parents->flush();
    }
    void in_child(int round) override
    {
        archive(*parents, child_number + round, 0);
        archive(*parents, child_number + round, 1);
        parents->flush();
        check_one(parents->dataset, child_number + round, 0);
        parents.reset();
    }
    void check(int rounds) override
    {
        for (int round = 0; round < rounds; ++round) {
            const auto& dataset = all[kept ? 0 : static_cast<std::size_t>(round)];
            for (const int number : {round, child_number + round})
                for (int step = kept || number != round ? 0 : 1; step < 2; ++step)
                    check_one(dataset, number, step);
        }
    }
    static void check_one(const std::shared_ptr<Dataset>& dataset, int number, int step)
    {
        const auto found = retrieve(dataset, collocation_key(number), element_key(step));
        const std::string what = "field " + std::to_string(number) + ", " + std::to_string(step);
        require(found.has_value(), what + " is there");
        require(*found == data(number, step), what + " is what was archived");
    }
    std::vector<std::shared_ptr<Dataset>> all;
    std::unique_ptr<Fields> parents;
};

class FieldFinder final : public FieldKind {
    void prepare(int round) override
    {
        if (!session) session = Session::open_own(location, Access::read_write);
        const auto dataset = session->create(dataset_key());
        Fields fields(dataset);
        fields.archive(collocation_key(round), element_key(round), pattern(100, 1));
        fields.flush();
        if (!finder) finder = std::make_unique<CatalogueReader>(dataset);
    }
    void work(int round) override
    {
        require(finder->find(collocation_key(round), element_key(round)).has_value(), "found by the parent");
    }
    void in_child(int round) override
    {
        require(finder->find(collocation_key(round), element_key(round)).has_value(), "found by the child");
        finder.reset();
    }
    void check(int rounds) override
    {
        for (int round = 0; round < rounds; ++round)
            work(round);
    }
    std::unique_ptr<CatalogueReader> finder;
};

class BlobKind : public Kind {
protected:
    static std::vector<std::byte> value(int round) { return pattern(100000, static_cast<unsigned>(round)); }
    void check_all(const std::string& prefix, int rounds) const
    {
        for (int round = 0; round < rounds; ++round)
            EXPECT_EQ(blobs.read(prefix + std::to_string(round)), value(round)) << prefix << round;
    }
    TemporaryDirectory directory;
    blobs::Blobs blobs = blobs::Blobs::open(directory / "pool", Access::read_write);
};

class BlobNumbers final : public BlobKind {
    void prepare(int) override { blobs.leave(); } // so that each round takes numbers
    void work(int round) override { blobs.write("parent" + std::to_string(round), value(round)); }
    void in_child(int round) override
    {
        const std::string key = "child" + std::to_string(round);
        blobs.write(key, value(round));
        require(blobs.read(key) == value(round), "the child reads what it wrote");
        blobs.leave();
    }
    void check(int rounds) override
    {
        check_all("parent", rounds);
        check_all("child", rounds);
    }
};

class BlobWriter final : public BlobKind {
    void prepare(int round) override
    {
        writer = std::make_unique<blobs::Writer>(blobs, "w" + std::to_string(round));
    }
    void work(int round) override
    {
        writer->write(value(round));
        writer->close();
    }
    void in_child(int) override
    {
        require_refused("write", [&] { writer->write({}); });
        require_refused("close", [&] { writer->close(); });
        require_refused("close_if", [&] { writer->close_if({}); });
        require_refused("size", [&] { writer->size(); });
        writer->discard();
        writer.reset();
    }
    void check(int rounds) override { check_all("w", rounds); }
    std::unique_ptr<blobs::Writer> writer;
};

// File systems of dfs_mount() and dfs_connect(): each process makes objects of its own, and connects anew.
class Files final : public Kind {
    static int made(int code) { return code == 0 ? 0 : throw std::runtime_error(dfs_last_message()); }
    void create(const std::string& name)
    {
        dfs_obj_t* file = nullptr;
        made(dfs_open(mounted, nullptr, name.c_str(), S_IFREG | 0600, O_CREAT | O_EXCL | O_RDWR, 0, 0,
                      nullptr, &file));
        made(dfs_release(file));
        dfs_t* again = nullptr; // of dfs_connect(), as `mounted`
        made(dfs_connect(location.c_str(), nullptr, "files", O_RDONLY, nullptr, &again));
        made(dfs_disconnect(again));
    }
    void work(int round) override { create("parent" + std::to_string(round)); }
    void in_child(int round) override { create("child" + std::to_string(round)); }
    void check(int rounds) override
    {
        std::set<std::uint64_t> numbers;
        for (int round = 0; round < rounds; ++round)
            for (const char* whose : {"/parent", "/child"}) {
                dfs_obj_t* file = nullptr;
                daos_obj_id_t oid{};
                made(dfs_lookup(mounted, (whose + std::to_string(round)).c_str(), O_RDONLY, &file, nullptr,
                                nullptr));
                made(dfs_obj2id(file, &oid));
                made(dfs_release(file));
                EXPECT_TRUE(numbers.insert(oid.lo << 32 | (oid.hi & UINT32_MAX)).second) << whose << round;
            }
        made(dfs_disconnect(mounted));
        made(dfs_fini());
    }

    TemporaryDirectory directory;
    std::string location = directory / "pool";
    dfs_t* mounted = [this] {
        Pool::connect_or_create(location);
        made(dfs_init());
        dfs_t* fs = nullptr;
        made(dfs_connect(location.c_str(), nullptr, "files", O_RDWR | O_CREAT, nullptr, &fs));
        return fs;
    }();
};

std::unique_ptr<Kind> make(OwnState which)
{
    switch (which) {
    case OwnState::array_location: return std::make_unique<ArrayLocation>();
    case OwnState::array_request: return std::make_unique<ArrayRequest>();
    case OwnState::stream_writer: return std::make_unique<StreamWriter>();
    case OwnState::stream_reader: return std::make_unique<StreamReader>();
    case OwnState::lease: return std::make_unique<Leases>();
    case OwnState::leases_let_go: return std::make_unique<LeasesLetGo>();
    case OwnState::field_sessions: return std::make_unique<FieldSessions>();
    case OwnState::field_session: return std::make_unique<FieldSession>();
    case OwnState::field_dataset: return std::make_unique<FieldsArchived<false>>();
    case OwnState::field_store:
    case OwnState::field_index: return std::make_unique<FieldsArchived<true>>();
    case OwnState::field_finder: return std::make_unique<FieldFinder>();
    case OwnState::fdb_client: return std::make_unique<Anew<OwnState::fdb_client>>();
    case OwnState::blob_numbers: return std::make_unique<BlobNumbers>();
    case OwnState::blob_writer: return std::make_unique<BlobWriter>();
    case OwnState::file_numbers:
    case OwnState::file_connections: return std::make_unique<Files>();
    case OwnState::count: return std::make_unique<StreamWriterBeside>(); // that of a stream_writer
    }
    throw std::logic_error("no kind of state");
}

class Forks : public ::testing::TestWithParam<int> {
protected:
    Forks() { use_faulty_library(); }
    ~Forks() override { Library::restore_ours(); }
};

TEST_P(Forks, LeaveEachProcessItsOwn)
{
    const auto kind = make(static_cast<OwnState>(GetParam()));
    const auto child = [&](int round, const std::function<void()>& wait) {
        return start_child([&kind, round, wait] {
            wait();
            alarm(child_seconds);
            kind->in_child(round);
            return 0;
        });
    };
    int round = 0;
    for (bool stopped = true; stopped && round < most_forks; ++round) {
        kind->prepare(round);
        Stop& stop = Stop::one();
        stop.thread_ends(false);
        std::thread parent([&] {
            kind->has_threads() ? stop.arm_all(round) : stop.arm(round);
            try {
                kind->work(round);
            } catch (const std::exception& error) {
                ADD_FAILURE() << error.what();
            }
            stop.disarm();
            stop.thread_ends(true);
        });
        stopped = stop.wait_for_stop();
        EXPECT_EQ(end_of(child(round, [] {})), 0) << "forked at call " << round;
        if (stopped) stop.let_go_on();
        parent.join();
        if (HasFailure()) return;
    }
    // The parent goes on, and then the child.
    kind->prepare(round);
    int gate[2];
    ASSERT_EQ(pipe(gate), 0);
    const pid_t later = child(round, [&] {
        char byte = 0;
        close(gate[1]);
        while (read(gate[0], &byte, 1) < 0) {
        }
    });
    kind->work(round);
    close(gate[0]);
    close(gate[1]);
    EXPECT_EQ(end_of(later), 0) << "after the parent went on";
    kind->check(round + 1);
}

INSTANTIATE_TEST_SUITE_P(OwnStates, Forks, ::testing::Range(0, static_cast<int>(OwnState::count) + 1));

} // namespace
} // namespace stepstore::testing

// Bad input: every rank gets the same error, which names array, dimension and rank, and nobody hangs.
#include "arrays/model.h"

#include <atomic>
#include <tuple>

namespace stepstore::arrays::testing {
namespace {

constexpr int ranks = 3;

class Refusals : public ArraysTest {
protected:
    static OpenOptions quick()
    {
        OpenOptions options;
        options.timeout_seconds = 1;
        return options;
    }
    // A sound call: rank r writes row r of {3, 4}.
    static WriteCall row(const Communicator& communicator, const std::vector<double>& data)
    {
        return {.name = "T",
                .type = {Kind::real64},
                .shape = {3, 4},
                .start = {communicator.rank(), 0},
                .count = {1, 4},
                .data = data.data()};
    }
    static ReadCall all_of(std::vector<double>& data)
    {
        data.resize(12);
        return {.name = "T", .type = {Kind::real64}, .dimensions = 2, .data = data.data()};
    }
    // All ranks get this error from `act`, and can go on: what was there before is still there.
    void expect_all(int code, const std::vector<std::string>& parts,
                    const std::function<void(Store&, const Communicator&)>& act, Mode mode = Mode::write)
    {
        const std::vector<double> data{1, 2, 3, 4};
        run_ranks(ranks, [&](const std::shared_ptr<Communicator>& communicator) {
            Store writer(location, Mode::write, communicator);
            writer.write(row(*communicator, data));
            writer.close();
        });
        std::vector<std::string> told(ranks);
        run_ranks(ranks, [&](const std::shared_ptr<Communicator>& communicator) {
            Store store(location, mode, communicator);
            try {
                act(store, *communicator);
                ADD_FAILURE() << "no error on rank " << communicator->rank();
            } catch (const Error& error) {
                EXPECT_EQ(error.code(), code) << error.what();
                told[static_cast<std::size_t>(communicator->rank())] = error.what();
            }
            std::vector<double> back;
            store.read(all_of(back));
            EXPECT_EQ(back, (std::vector<double>{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}));
            EXPECT_EQ(store.list(), std::vector<std::string>{"T"});
            store.close();
        });
        for (const std::string& text : told)
            EXPECT_EQ(text, told.front());
        for (const std::string& part : parts)
            EXPECT_NE(told.front().find(part), std::string::npos)
                << "'" << part << "' is not in: " << told[0];
    }
    // Rank 1 changes the sound call.
    void expect_write(int code, const std::vector<std::string>& parts,
                      const std::function<void(WriteCall&)>& change, bool all = false)
    {
        expect_all(code, parts, [&](Store& store, const Communicator& communicator) {
            const std::vector<double> data(12, 9);
            WriteCall call = row(communicator, data);
            if (all || communicator.rank() == 1) change(call);
            store.write(call);
        });
    }
    void expect_read(int code, const std::vector<std::string>& parts,
                     const std::function<void(ReadCall&)>& change, bool all = false)
    {
        expect_all(
            code, parts,
            [&](Store& store, const Communicator& communicator) {
                std::vector<double> data;
                ReadCall call = all_of(data);
                if (all || communicator.rank() == 1) change(call);
                store.read(call);
            },
            Mode::read);
    }
};

TEST_F(Refusals, RanksThatSayDifferentThings)
{
    const std::string both = "write_array 'T'";
    expect_write(-DER_MISMATCH, {both, "element type", "rank 0 says real64", "rank 1 says int64"},
                 [](WriteCall& call) { call.type = {Kind::int64}; });
    expect_write(-DER_MISMATCH,
                 {both, "shape of the array, dimension 1", "rank 0 says {3, 4}", "rank 1 says {3, 5}"},
                 [](WriteCall& call) { call.shape = {3, 5}; });
    expect_write(-DER_MISMATCH, {both, "number of dimensions", "rank 1 says 1"}, [](WriteCall& call) {
        call.shape = {12};
        call.start = {4};
        call.count = {4};
    });
    expect_write(-DER_MISMATCH, {both, "chunk_size", "rank 1 says 4096"},
                 [](WriteCall& call) { call.layout.chunk_size = 4096; });
    expect_write(-DER_MISMATCH, {both, "object class", "rank 1 says S1"},
                 [](WriteCall& call) { call.layout.object_class = "S1"; });
    expect_write(-DER_MISMATCH, {both, "checksum"}, [](WriteCall& call) { call.layout.checksum = true; });
    expect_write(-DER_MISMATCH, {"rank 0 calls write_array 'T'", "rank 1 calls write_array 'U'"},
                 [](WriteCall& call) { call.name = "U"; });
    expect_write(-DER_MISMATCH, {"rank 1 calls write_object 'T'"},
                 [](WriteCall& call) { call.placement = Placement::object_per_block; });
    expect_write(-DER_MISMATCH, {"rank 1 calls append_array 'T'"},
                 [](WriteCall& call) { call.append_along = 0; });
}

TEST_F(Refusals, RanksThatMakeDifferentCalls)
{
    expect_all(-DER_MISMATCH, {"rank 0 calls write_array 'T'", "rank 2 calls read_array 'T'"},
               [](Store& store, const Communicator& communicator) {
                   std::vector<double> data;
                   if (communicator.rank() == 2)
                       store.read(all_of(data));
                   else
                       store.write(row(communicator, std::vector<double>(4)));
               });
    expect_all(-DER_MISMATCH, {"rank 0 calls list", "rank 1 calls inquire 'T'"},
               [](Store& store, const Communicator& communicator) {
                   communicator.rank() == 1 ? static_cast<void>(store.inquire("T"))
                                            : static_cast<void>(store.list());
               });
}

TEST_F(Refusals, RequestsThatAreWaitedForInAnotherOrder)
{
    expect_all(-DER_MISMATCH,
               {"rank 0 calls wait of request 1, read_array 'T'", "rank 1 calls wait of request 2"},
               [](Store& store, const Communicator& communicator) {
                   std::vector<double> first, second;
                   Request one = store.begin_read(all_of(first));
                   Request two = store.begin_read(all_of(second));
                   (communicator.rank() == 1 ? two : one).wait();
               });
}

TEST_F(Refusals, BlocksThatDoNotMakeUpTheArray)
{
    expect_write(-DER_INVAL, {"write_array 'T'", "rank 0", "rank 1", "overlap in [0:1, 0:4]"},
                 [](WriteCall& call) { call.start = {0, 0}; });
    expect_write(-DER_INVAL, {"no rank's block covers [1:2, 0:4]", "rank 1"},
                 [](WriteCall& call) { call.count = {0, 4}; });
    expect_write(-DER_INVAL, {"rank 1: dimension 1: the block begins at 1 and has 4 elements", "has 4"},
                 [](WriteCall& call) { call.start = {1, 1}; });
}

TEST_F(Refusals, ArgumentsThatAreNotValid)
{
    expect_write(-DER_INVAL, {"write_array 'T': rank 1: dimension 1: the start is -1"},
                 [](WriteCall& call) { call.start = {1, -1}; });
    expect_write(-DER_INVAL, {"rank 1: dimension 0: the count is -4"},
                 [](WriteCall& call) { call.count = {-4, 4}; });
    expect_write(-DER_INVAL, {"rank 1: dimension 0: the extent is -1"},
                 [](WriteCall& call) { call.shape = {-1, 4}; });
    expect_write(-DER_INVAL, {"rank 1: the number of dimensions is 0"},
                 [](WriteCall& call) { call.shape.clear(); });
    expect_write(-DER_INVAL, {"rank 1: the number of dimensions is 8"},
                 [](WriteCall& call) { call.shape = {1, 1, 1, 1, 1, 1, 3, 4}; });
    expect_write(-DER_INVAL, {"rank 1: the count has 1 dimensions, and the array 2"},
                 [](WriteCall& call) { call.count = {4}; });
    expect_write(-DER_INVAL, {"rank 1: the address of the data is null"},
                 [](WriteCall& call) { call.data = nullptr; });
    expect_write(-DER_INVAL, {"rank 1: character(0)", "no element type"},
                 [](WriteCall& call) { call.type = {Kind::character, 0}; });
    expect_write(-DER_INVAL, {"rank 1: type 99"},
                 [](WriteCall& call) { call.type.kind = static_cast<Kind>(99); });
    expect_write(-DER_INVAL, {"rank 1: dimension 1: with a stride of 4 bytes", "at least 8"},
                 [](WriteCall& call) { call.strides = {32, 4}; });
    expect_write(
        -DER_INVAL, {"chunk_size is 100"}, [](WriteCall& call) { call.layout.chunk_size = 100; }, true);
    expect_write(
        -DER_INVAL, {"there is no object class 'S3.5'"},
        [](WriteCall& call) { call.layout.object_class = "S3.5"; }, true);
    expect_write(
        -DER_INVAL, {"name of the array is empty"}, [](WriteCall& call) { call.name.clear(); }, true);
    expect_write(-DER_INVAL, {"2000 bytes"}, [](WriteCall& call) { call.name.assign(2000, 'x'); }, true);
    expect_write(
        -DER_INVAL, {"zero byte"}, [](WriteCall& call) { call.name = std::string("a\0b", 3); }, true);
    expect_write(
        -DER_OVERFLOW, {"dimension 1", "more than 2^61 bytes"},
        [](WriteCall& call) { call.shape = {1LL << 40, 1LL << 40}; }, true);
}

TEST_F(Refusals, ReadsOfWhatIsNotThere)
{
    expect_read(
        -DER_MISMATCH, {"read_array 'T'", "has elements of real64", "elements of real32"},
        [](ReadCall& call) { call.type = {Kind::real32}; }, true);
    expect_read(-DER_MISMATCH, {"element type", "rank 1 says real32"},
                [](ReadCall& call) { call.type = {Kind::real32}; });
    expect_read(-DER_MISMATCH, {"has 2 dimensions"}, [](ReadCall& call) { call.dimensions = 3; }, true);
    expect_read(
        -DER_MISMATCH, {"the shape {3, 4}", "{3, 5}", "dimension 1"},
        [](ReadCall& call) { call.shape = {3, 5}; }, true);
    expect_read(-DER_INVAL, {"rank 1: dimension 0: the block begins at 2 and has 2 elements", "has 3"},
                [](ReadCall& call) {
                    call.start = {2, 0};
                    call.count = {2, 4};
                });
    expect_read(-DER_INVAL, {"rank 1: dimension 1", "begins at 9223372036854775807"}, [](ReadCall& call) {
        call.start = {0, INT64_MAX};
        call.count = {1, 1};
    });
    expect_read(-DER_INVAL, {"rank 1: the address of the memory is null"},
                [](ReadCall& call) { call.data = nullptr; });
    expect_read(
        -DER_NONEXIST, {"read_array 'U'", "there is no array 'U' in"},
        [](ReadCall& call) { call.name = "U"; }, true);
}

TEST_F(Refusals, AppendsThatDoNotFit)
{
    const auto append = [&](const std::vector<std::string>& parts,
                            const std::function<void(WriteCall&)>& change) {
        expect_write(
            -DER_MISMATCH, parts,
            [&](WriteCall& call) {
                call.append_along = 0;
                change(call);
            },
            true);
    };
    append(
        {"append_array 'T'", "cannot append to array 'T'", "elements of real64, and these are of complex64"},
        [](WriteCall& call) { call.type = {Kind::complex64}; });
    append({"dimension 1: it has 4 elements, and this has 2"}, [](WriteCall& call) {
        call.shape = {3, 2};
        call.count = {1, 2};
    });
    append({"it has 2 dimensions, and this has 3"}, [](WriteCall& call) {
        call.shape = {3, 4, 1};
        call.start.push_back(0);
        call.count.push_back(1);
    });
    expect_write(
        -DER_INVAL, {"dimension 2 to append along"}, [](WriteCall& call) { call.append_along = 2; }, true);
}

TEST_F(Refusals, WritesThroughALocationThatIsRead)
{
    expect_all(
        -DER_NO_PERM, {"write_array 'T'", "was opened for reading"},
        [](Store& store, const Communicator& communicator) {
            store.write(row(communicator, std::vector<double>(4)));
        },
        Mode::read);
    expect_all(
        -DER_NO_PERM, {"remove 'T'", "was opened for reading"},
        [](Store& store, const Communicator&) { store.remove("T"); }, Mode::read);
}

TEST_F(Refusals, AProgramOfOneRank)
{
    const auto alone = self_communicator();
    const std::vector<double> data(12, 7), other(12, 9);
    Store store(location, Mode::write, alone);
    const auto write_rows = [&](std::int64_t start, std::int64_t count, Kind kind, std::optional<int> along) {
        WriteCall call = row(*alone, other);
        call.type = {kind};
        call.start = {start, 0};
        call.count = {count, 4};
        if (along) call.append_along = static_cast<unsigned>(*along);
        store.write(call);
    };
    WriteCall whole = row(*alone, data);
    whole.count = {3, 4};
    store.write(whole);
    std::vector<double> back;
    const auto read = [&](const std::function<void(ReadCall&)>& change) {
        ReadCall call = all_of(back);
        change(call);
        store.read(call);
    };
    const std::vector<std::tuple<int, std::vector<std::string>, std::function<void()>>> cases = {
        {-DER_INVAL,
         {"write_array 'T'", "no rank's block covers [2:3, 0:4]"},
         [&] { write_rows(0, 2, Kind::real64, {}); }},
        {-DER_INVAL,
         {"write_array 'T'", "rank 0: dimension 0", "begins at 1 and has 3"},
         [&] { write_rows(1, 3, Kind::real64, {}); }},
        {-DER_MISMATCH,
         {"append_array 'T'", "real64, and these are of int64"},
         [&] { write_rows(0, 3, Kind::int64, 0); }},
        {-DER_MISMATCH,
         {"read_array 'T'", "real64", "int64"},
         [&] { read([](ReadCall& call) { call.type = {Kind::int64}; }); }},
        {-DER_MISMATCH,
         {"read_array 'T'", "has 2 dimensions"},
         [&] { read([](ReadCall& call) { call.dimensions = 3; }); }},
        {-DER_MISMATCH,
         {"read_array 'T'", "{3, 5}", "dimension 1"},
         [&] { read([](ReadCall& call) { call.shape = {3, 5}; }); }},
        {-DER_INVAL,
         {"read_array 'T'", "rank 0: dimension 1: the block begins at 2 and has 3 elements"},
         [&] {
             read([](ReadCall& call) {
                 call.start = {0, 2};
                 call.count = {3, 3};
             });
         }},
        {-DER_NONEXIST, {"no array 'U'"}, [&] { read([](ReadCall& call) { call.name = "U"; }); }},
    };
    for (const auto& [code, parts, act] : cases) {
        try {
            act();
            ADD_FAILURE() << "no error: " << parts.front();
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), code) << error.what();
            for (const std::string& part : parts)
                EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
                    << "'" << part << "' is not in: " << error.what();
        }
        store.read(all_of(back));
        EXPECT_EQ(back, data);
        EXPECT_EQ(store.list(), std::vector<std::string>{"T"});
    }
}

TEST_F(Refusals, LocationsThatCannotBeOpened)
{
    const auto open_all = [&](int code, const std::vector<std::string>& parts,
                              const std::function<void(std::string&, Mode&, OpenOptions&)>& change,
                              bool all = true) {
        std::vector<std::string> told(ranks);
        run_ranks(ranks, [&](const std::shared_ptr<Communicator>& communicator) {
            std::string where = location;
            Mode mode = Mode::write;
            OpenOptions options;
            if (all || communicator->rank() == 2) change(where, mode, options);
            expect_error(code, parts, [&] {
                try {
                    Store(where, mode, communicator, options);
                } catch (const Error& error) {
                    told[static_cast<std::size_t>(communicator->rank())] = error.what();
                    throw;
                }
            });
        });
        for (const std::string& text : told)
            EXPECT_EQ(text, told.front());
    };
    open_all(-DER_NONEXIST, {"there is no pool at"},
             [](std::string&, Mode& mode, OpenOptions&) { mode = Mode::read; });
    EXPECT_FALSE(std::filesystem::exists(location)); // reading makes nothing
    open_all(
        -DER_MISMATCH, {"rank 2 opens with another mode"},
        [](std::string&, Mode& mode, OpenOptions&) { mode = Mode::read; }, false);
    open_all(
        -DER_MISMATCH, {"rank 0 calls open", "rank 2 calls open"},
        [](std::string& where, Mode&, OpenOptions&) { where += "2"; }, false);
    open_all(-DER_INVAL, {"transfer_size is 5 bytes"},
             [](std::string&, Mode&, OpenOptions& options) { options.transfer_size = 5; });
    open_all(-DER_INVAL, {"a snapshot cannot be written"},
             [](std::string&, Mode&, OpenOptions& options) { options.snapshot = 5; });
    open(Mode::write)->close();
    open_all(-DER_INVAL, {"has a part behind its container"},
             [](std::string& where, Mode&, OpenOptions&) { where += "/container/array"; });
    open_all(-DER_NONEXIST, {"snapshot"}, [](std::string&, Mode& mode, OpenOptions& options) {
        mode = Mode::read;
        options.snapshot = 12345;
    });
}

TEST_F(Refusals, ARankThatDoesNotCome)
{
    std::atomic<int> timed_out = 0;
    run_ranks(ranks, [&](const std::shared_ptr<Communicator>& communicator) {
        Store store(location, Mode::write, communicator, quick());
        if (communicator->rank() == 0) {
            expect_error(-DER_TIMEDOUT, {"rank 0 waited 1 s", "timeout_seconds", "write_array 'T'"},
                         [&] { store.write(row(*communicator, std::vector<double>(4))); });
            ++timed_out;
            expect_error(-DER_CANCELED, {"close it"}, [&] { store.list(); });
            return;
        }
        while (timed_out == 0)
            std::this_thread::yield();
    });
}

TEST_F(Refusals, RequestsThatNobodyWaitedFor)
{
    run_ranks(ranks, [&](const std::shared_ptr<Communicator>& communicator) {
        const std::vector<double> data(4, 1);
        Store store(location, Mode::write, communicator);
        Request request = store.begin_write(row(*communicator, data));
        expect_error(-DER_BUSY, {"write_array 'T'", "wait for it first"},
                     [&] { store.write(row(*communicator, data)); });
        expect_error(-DER_CANCELED, {"nobody waited for: write_array 'T'"}, [&] { store.close(); });
        expect_error(-DER_NO_HDL, {"was closed"}, [&] { store.list(); });
        expect_error(-DER_CANCELED, {"write_array 'T'", "was given up"}, [&] { request.wait(); });
    });
    EXPECT_TRUE(open(Mode::read)->list().empty());
}

} // namespace
} // namespace stepstore::arrays::testing

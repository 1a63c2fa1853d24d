// Ceph pools that share one erasure-coded data pool, and the namespace in it. Each pool's removal leaves what
// others have there, whatever is written in its header.
#include "support/bare_ceph.h"
#include "support/ceph_cluster.h"
#include "support/store_fixture.h"

namespace stepstore::testing {
namespace {

constexpr char admin[] = "--id=admin", mallory[] = "--id=mallory";
const ArrayAttributes whole{1, 64 << 20};

class SharedDataPool : public ::testing::Test {
protected:
    void SetUp() override { name_data_pool("test", "one-data"); }
    void name_data_pool(const std::string& pool, const std::string& data) const
    {
        cluster.tell("ask", "'osd pool application set' pool=" + pool +
                                " app=stepstore key=data_pool value=" + data);
    }
    static void make(const std::string& path)
    {
        Pool::create(path, {})->create_container(uuid_of(1), "test", {});
        const auto container = Pool::open(path, Access::read_write)->open_container("test");
        write_cells(*container, array_object(1), whole, 0, content(path));
    }
    static std::vector<std::byte> content(const std::string& path)
    {
        return pattern(5 << 20, path.size() * 1000 + static_cast<unsigned char>(path[8]));
    }
    static void expect_whole(const std::string& path)
    {
        {
            const auto container = Pool::open(path, Access::read_write)->open_container("test");
            const auto expected = content(path);
            EXPECT_TRUE(read_cells(*container, array_object(1), whole, 0, expected.size()) == expected)
                << path;
        }
        EXPECT_TRUE(undamaged(Pool::check(path, {})));
    }
    static std::string header_of(const std::string& path)
    {
        librados::bufferlist bytes;
        EXPECT_GT(BareCeph(path).io.read("stepstore", bytes, 4096, 0), 0);
        return bytes.to_str();
    }
    static void put_header(const std::string& path, const std::string& text, const char* user)
    {
        librados::bufferlist bytes;
        bytes.append(text);
        EXPECT_EQ(BareCeph(path, user).io.write_full("stepstore", bytes), 0);
    }
    static std::string replaced(std::string text, const std::string& what, const std::string& by)
    {
        const auto at = text.find(what);
        EXPECT_NE(at, std::string::npos) << text;
        return text.replace(at, what.size(), by);
    }

    CephCluster cluster{"--osds 3 --pool-with-data-pool one"};
    const std::string one = "rados://one/n", other = "rados://test/n";
};

TEST_F(SharedDataPool, KeepsWhatIsOfOthersWhenAPoolIsDestroyed)
{
    run_user(admin, [&] {
        make(one);
        make(other);
        Pool::destroy(one);
        expect_whole(other);
        make(one);
        Pool::destroy(other);
        expect_whole(one);
        Pool::destroy(one);
        EXPECT_TRUE(BareCeph("rados://one-data/n").objects().empty());
    });
}

TEST_F(SharedDataPool, KeepsWhatIsOfOthersWhenTheNextMakerRemovesWhatADeadOneLeft)
{
    run_user(admin, [&] {
        make(one);
        make(other);
    });
    run_user(admin, [&] {
        put_header(one, replaced(header_of(one), "state ready", "state making"), "admin");
        make(one);
        expect_whole(one);
        expect_whole(other);
    });
}

// Bulk data of one pool among the indexes of another one.
TEST_F(SharedDataPool, MayBeThePoolOfOtherIndexes)
{
    name_data_pool("test", "one");
    run_user(admin, [&] {
        make(other);
        make(one);
        Pool::destroy(one);
        expect_whole(other);
        Pool::destroy(other);
        EXPECT_TRUE(BareCeph(one).objects().empty());
    });
}

// Mallory may write the namespace of a pool, and nothing else. Its owner may write more.
TEST_F(SharedDataPool, IsNotTouchedForAForgedHeader)
{
    cluster.tell("user", "mallory mon 'allow r' osd 'allow rw pool=one namespace=n'");
    std::string mine, data, indexes;
    run_user(admin, [&] {
        make(one);
        make(other);
    });
    const auto forge = [&](const std::string& version, bool names_indexes, const std::string& state) {
        run_user(admin, [&] {
            const std::string theirs = header_of(other);
            const std::string id = theirs.substr(theirs.find("id ") + 3, 16);
            const auto number = BareCeph(names_indexes ? other : "rados://one-data/n").io.get_id();
            run_user(mallory, [&] {
                put_header(one,
                           "STEPSTORE-RADOS " + version + "\nid " + id +
                               "\ntargets 32\ndurability process\nstate " + state + "\ndata " +
                               std::to_string(number) + "\n",
                           "mallory");
            });
        });
    };
    for (const std::string version : {"2", "3"}) {
        for (const bool names_indexes : {false, true}) {
            forge(version, names_indexes, "ready");
            run_user(admin, [&] {
                std::string message;
                EXPECT_EQ(der_of([&] { Pool::open(one, Access::read_write); }, &message), DER_DF_INVAL);
                EXPECT_EQ(der_of([&] { Pool::destroy(one); }, &message), DER_DF_INVAL) << message;
                EXPECT_NE(message.find("does not say so"), std::string::npos) << message;
                expect_whole(other);
            });
            forge(version, names_indexes, "removing");
            run_user(admin, [&] {
                EXPECT_EQ(der_of([&] { Pool::create(one, {}); }), DER_DF_INVAL);
                expect_whole(other);
            });
        }
    }
}

} // namespace
} // namespace stepstore::testing

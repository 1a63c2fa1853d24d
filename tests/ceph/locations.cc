// Locations rados://: what names what, what is made, and what is said where something is not there.
#include "steps/read/reader.h"
#include "steps/stream/stream.h"
#include "steps/write/writer.h"
#include "stepstore/administration.h"
#include "support/errors.h"
#include "support/location.h"

#include <daos_errno.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace stepstore::steps::testing {
namespace {

using stepstore::testing::error_of;
using stepstore::testing::new_pool;
using stepstore::testing::TemporaryDirectory;

std::string parts_of(const std::string& text)
{
    const Location found = resolve_location(text);
    return found.pool + " " + found.container + " " + found.stream;
}

void write_one_step(const std::string& location, std::uint64_t value, const WriterOptions& options = {})
{
    Writer writer(location, options, self_communicator());
    writer.begin_step();
    writer.put_value(writer.define("value", Type::uint64, ShapeKind::global_value), &value);
    writer.end_step();
    writer.close();
}

std::uint64_t value_in(const std::string& location)
{
    Reader reader(location, {}, self_communicator());
    EXPECT_EQ(reader.begin_step(0), StepStatus::ok);
    std::uint64_t value = 0;
    reader.get_value(reader.find("value").value(), &value);
    return value;
}

class CephLocations : public ::testing::Test {
protected:
    TemporaryDirectory directory;
    const std::string pool = new_pool(directory);
    const std::string ceph_pool = pool.substr(0, pool.rfind('/'));
};

TEST_F(CephLocations, TheSecondPartIsTheNamespaceWhateverThereIs)
{
    EXPECT_EQ(parts_of(pool), pool + " default main");
    EXPECT_EQ(parts_of(pool + "/run7"), pool + " run7 main");
    EXPECT_EQ(parts_of(pool + "//run7/fields//high/"), pool + " run7 fields/high");
    EXPECT_FALSE(resolve_location(pool + "/run7").pool_exists);
    write_one_step(pool + "/run7", 1);
    EXPECT_EQ(parts_of(pool + "/run7"), pool + " run7 main");
    EXPECT_TRUE(resolve_location(pool + "/run7").pool_exists);
}

TEST_F(CephLocations, TheDefaultNamespaceHasAnEmptyName)
{
    const std::string own = ceph_pool + "/";
    EXPECT_EQ(parts_of(ceph_pool), own + " default main");
    EXPECT_EQ(parts_of(own), own + " default main");
    EXPECT_EQ(parts_of(ceph_pool + "//box/gs"), own + " box gs");
    EXPECT_EQ(resolve_location(ceph_pool + "//box/gs").text(), ceph_pool + "//box/gs");
    write_one_step(ceph_pool + "//box", 7);
    EXPECT_EQ(value_in(ceph_pool + "//box"), 7U);
    EXPECT_EQ(list_streams(ceph_pool + "//box"), std::vector<std::string>{"main"});
    Pool::destroy(ceph_pool);
    EXPECT_FALSE(resolve_location(ceph_pool).pool_exists);
}

TEST_F(CephLocations, AWriterMakesWhatIsMissingAndAReaderNothing)
{
    EXPECT_EQ(error_of([&] { value_in(pool); }).code(), -DER_NONEXIST);
    EXPECT_EQ(error_of([&] { Pool::connect(pool, Access::read_only); }).code(), -DER_NONEXIST);
    EXPECT_FALSE(resolve_location(pool).pool_exists);
    write_one_step(pool, 1);
    write_one_step(pool + "/box", 2);
    write_one_step(pool + "/box/fields/high", 3);
    EXPECT_EQ(value_in(pool), 1U);
    EXPECT_EQ(value_in(pool + "/default/main"), 1U);
    EXPECT_EQ(value_in(pool + "/box"), 2U);
    EXPECT_EQ(value_in(pool + "/box/fields/high"), 3U);
    EXPECT_EQ(describe_pool(pool).backend, "rados");
    EXPECT_EQ(pool_path(pool + "/"), pool);
    EXPECT_FALSE(std::filesystem::exists("rados:")); // nothing of it is a directory
}

TEST_F(CephLocations, WhatIsMissingIsNamed)
{
    const Error none = error_of([] { value_in("rados://no-such-pool/runs"); });
    EXPECT_EQ(none.code(), -DER_NONEXIST);
    EXPECT_NE(std::string(none.what()).find("no-such-pool"), std::string::npos) << none.what();
    EXPECT_EQ(error_of([] { write_one_step("rados://no-such-pool/runs", 1); }).code(), -DER_NONEXIST);
    write_one_step(pool, 1);
    const Error container = error_of([&] { value_in(pool + "/box"); });
    EXPECT_EQ(container.code(), -DER_NONEXIST);
    EXPECT_NE(std::string(container.what()).find("'box'; it has default"), std::string::npos)
        << container.what();
    for (const std::string& bad : {std::string("rados://"), std::string("rados:///box"), pool + "/a/../b",
                                   pool + "/" + std::string(200, 'c')})
        EXPECT_EQ(error_of([&] { resolve_location(bad); }).code(), -DER_INVAL) << bad;
}

TEST_F(CephLocations, TheLayoutInFilesIsRefusedAndLeavesNoStream)
{
    WriterOptions options;
    options.layout = "posix";
    const Error refused = error_of([&] { write_one_step(pool, 1, options); });
    EXPECT_EQ(refused.code(), -DER_NOSYS);
    EXPECT_NE(std::string(refused.what()).find("has no directory: use another layout"), std::string::npos)
        << refused.what();
    EXPECT_FALSE(resolve_location(pool).pool_exists);
}

} // namespace
} // namespace stepstore::steps::testing

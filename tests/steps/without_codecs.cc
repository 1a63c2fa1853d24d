// A build without zstd and C-Blosc2: linked with a compression.cc that was compiled without them. It refuses
// to write compressed, and reads all that is not. WRITER: a program of the full build that writes a stream.
#include "steps/compression.h"
#include "steps/read/reader.h"
#include "steps/stream/options.h"
#include "support/temporary.h"

#include <daos_errno.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace stepstore::steps {
namespace {

using stepstore::testing::TemporaryDirectory;

template <class Body>
void expect_refused(Body&& body, std::initializer_list<const char*> parts)
{
    try {
        body();
        ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), -DER_NOSYS) << error.what();
        for (const char* part : parts)
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
}

TEST(WithoutCodecs, WritingIsRefusedByName)
{
    EXPECT_EQ(compression_method_names(), std::vector<std::string>{"none"});
    for (const char* method : {"zstd", "blosc2-lz4", "blosc2-zstd"}) {
        WriterOptions options;
        ASSERT_TRUE(options.set("Compression", method));
        expect_refused([&] { check_options(options); }, {"Compression", method, "use none"});
    }
    WriterOptions options;
    ASSERT_TRUE(options.set("MetadataCompression", "zstd"));
    expect_refused([&] { check_options(options); }, {"MetadataCompression", "libzstd-dev"});
}

TEST(WithoutCodecs, WhatIsNotCompressedIsRead)
{
    const TemporaryDirectory directory;
    for (const char* method : {"zstd", "blosc2-lz4"}) {
        const std::string location = directory / method;
        ASSERT_EQ(std::system(("\"" WRITER "\" '" + location + "' " + method + " none").c_str()), 0);
        Reader reader(location, {}, self_communicator());
        ASSERT_EQ(reader.begin_step(0), StepStatus::ok);
        std::vector<double> values(1000, -1);
        const auto squeezed = reader.find("squeezed").value();
        reader.get(reader.find("plain").value(), Dims{0}, Dims{1000}, values.data(), Mode::sync);
        EXPECT_EQ(values[999], 999.0);
        EXPECT_EQ(reader.minmax(squeezed)->max.as<double>(), 999.0);
        expect_refused([&] { reader.get(squeezed, Dims{0}, Dims{1000}, values.data(), Mode::sync); },
                       {"'squeezed'", "step 0", "rank 0",
                        method == std::string("zstd") ? "libzstd-dev" : "libblosc2-dev"});
        reader.get(reader.find("plain").value(), Dims{10}, Dims{10}, values.data(), Mode::sync);
        EXPECT_EQ(values[0], 10.0);
    }
}

TEST(WithoutCodecs, CompressedMetadataIsRefusedByName)
{
    const TemporaryDirectory directory;
    const std::string location = directory / "pool";
    ASSERT_EQ(std::system(("\"" WRITER "\" '" + location + "' none zstd").c_str()), 0);
    Reader reader(location, {}, self_communicator());
    expect_refused([&] { reader.begin_step(0); }, {"metadata", "step 0", "rank 0", "libzstd-dev"});
}

} // namespace
} // namespace stepstore::steps

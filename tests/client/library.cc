#include "client/client_fixture.h"

#include <cstdlib>

namespace stepstore::testing {
namespace {

using LibraryTest = ClientTest;

TEST_F(LibraryTest, NamesEveryFunctionThatAFileLacks)
{
    const auto error = error_of([] { Library::load("libm.so.6"); });
    EXPECT_EQ(error.code(), -DER_NOSYS);
    const std::string message = error.what();
    for (const char* part :
         {"libm.so.6", "daos_init", "daos_pool_connect2", "daos_kv_put", "daos_event_test"})
        EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
}

TEST_F(LibraryTest, SaysWhyAFileCannotBeLoaded)
{
    const std::string missing = directory / "libdaos.so.2";
    const auto error = error_of([&] { Library::load(missing); });
    EXPECT_EQ(error.code(), -DER_NOSYS);
    EXPECT_NE(std::string(error.what()).find(missing), std::string::npos);
}

// A library that is loaded, as a DAOS system's is: our own, from its file.
TEST_F(LibraryTest, WorksWithALoadedLibrary)
{
    const Library library = Library::load(STEPSTORE_DAOS_FILE);
    EXPECT_EQ(library.name, STEPSTORE_DAOS_FILE);
    const auto through = Pool::connect(library, location);
    auto opened = through.open_container("container");
    auto kv = opened.key_value(key_value().id());
    kv.put("key", bytes("value"));
    EXPECT_EQ(text(key_value().get("key").value()), "value");
}

TEST_F(LibraryTest, TakesLocationsOfADaosSystemToItsLibrary)
{
    setenv("STEPSTORE_LIBDAOS", (directory / "libdaos.so.2").c_str(), 1);
    auto error = error_of([] { Pool::connect("daos://pool"); });
    EXPECT_EQ(error.code(), -DER_NOSYS);
    EXPECT_NE(std::string(error.what()).find("libdaos.so.2"), std::string::npos) << error.what();
    setenv("STEPSTORE_LIBDAOS", STEPSTORE_DAOS_FILE, 1); // found now: the failure was not kept
    error = error_of([] { Pool::connect("daos://no-such-pool"); });
    EXPECT_EQ(error.code(), -DER_NONEXIST) << error.what();
    unsetenv("STEPSTORE_LIBDAOS");
}

TEST_F(LibraryTest, RefusesOtherSchemes)
{
    EXPECT_ERROR(-DER_INVAL, Pool::connect("s3://pool"));
}

} // namespace
} // namespace stepstore::testing

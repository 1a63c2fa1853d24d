// A process that runs another MPI, loaded privately as mpi4py does: found, and refused with the names of
// both, instead of a crash.
#include "comm/communicator.h"
#include "daos_errno.h"
#include "stepstore/error.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace stepstore {
namespace {

TEST(OtherMpi, IsFoundAndRefused)
{
    EXPECT_EQ(form_group("key", GroupChoice::automatic, 1)->size(), 1); // no MPI runs
    ASSERT_NE(dlopen(OTHER_MPI_LIBRARY, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
    for (auto choice : {GroupChoice::automatic, GroupChoice::world}) {
        try {
            form_group("key", choice, 1);
            ADD_FAILURE() << "formed a group over an unknown MPI";
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), -DER_NOSYS);
            EXPECT_NE(std::string(error.what()).find("libmpi.so.12"), std::string::npos) << error.what();
            EXPECT_NE(std::string(error.what()).find("Communicator=self"), std::string::npos) << error.what();
        }
    }
    EXPECT_EQ(form_group("key", GroupChoice::self, 1)->size(), 1);
}

} // namespace
} // namespace stepstore

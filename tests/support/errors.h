// Expects that a statement throws stepstore::Error with a certain code.
#pragma once

#include "stepstore/error.h"

#include <gtest/gtest.h>

namespace stepstore::testing {

// The error that `body` throws; its code is 0 when it throws none.
template <class Body>
Error error_of(Body body)
{
    try {
        body();
    } catch (const Error& error) {
        return error;
    }
    return {0, "no error"};
}

#define EXPECT_ERROR(expected, statement)                                                                    \
    do {                                                                                                     \
        const ::stepstore::Error error_ = ::stepstore::testing::error_of([&] { statement; });                \
        EXPECT_EQ(error_.code(), expected) << error_.what();                                                 \
    } while (0)

} // namespace stepstore::testing

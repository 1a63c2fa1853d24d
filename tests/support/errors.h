// The stepstore::Error that a call throws.
#pragma once

#include "stepstore/error.h"

#include <gtest/gtest.h>

#include <string>

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

// Its code, 0 when it throws none; `text` gets the message.
template <class Body>
int code_of(Body body, std::string* text = nullptr)
{
    const Error error = error_of(body);
    if (text != nullptr && error.code() != 0) *text = error.what();
    return error.code();
}

// The message of the error with this code that it must throw.
template <class Body>
std::string message_of(Body body, int code)
{
    const Error error = error_of(body);
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
}

#define EXPECT_ERROR(expected, statement)                                                                    \
    do {                                                                                                     \
        const ::stepstore::Error error_ = ::stepstore::testing::error_of([&] { statement; });                \
        EXPECT_EQ(error_.code(), expected) << error_.what();                                                 \
    } while (0)

} // namespace stepstore::testing

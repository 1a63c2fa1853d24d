// Looks for the module of tests/base/module.cc from a program: prints "found", or where it was looked for.
#include "base/module.h"

#include <cstdio>

int main()
{
    std::string tried;
    void* found = stepstore::find_in_module(reinterpret_cast<const void*>(&main), "libtest_module.so",
                                            "stepstore_test_module", tried);
    std::puts(found != nullptr ? "found" : tried.c_str());
}

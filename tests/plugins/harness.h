// What the plugin's test programs share: real ADIOS2, an engine chosen by name, a directory of the run's own,
// checks on every rank. The programs use ADIOS2's public interface only, so the same cases run through BP5,
// which says what ADIOS2's users expect.
#pragma once

#include <adios2.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mpi.h>
#include <string>
#include <vector>

namespace plugin_test {

struct Run {
    int rank = 0;
    int ranks = 1;
    // Or Stepstore, BP5. Public is the plugin in an ADIOS2 that differs from the one it was built for
    // (other_adios2.cc), where it has the public interface alone.
    std::string engine = "Plugin";
    std::string directory; // the same on all ranks, removed at the end
    bool plugin() const { return engine == "Plugin" || engine == "Public"; }
    // Spans, and what ADIOS2 asks the engine of a variable.
    bool has_core() const
    {
#ifdef STEPSTORE_ADIOS2_CORE
        return engine != "Public";
#else
        return !plugin();
#endif
    }
    bool knows_communicator() const
    {
#ifdef ADIOS2_HAS_MPI
        return has_core();
#else
        return false;
#endif
    }
};
extern Run run;

// Prints and ends all ranks at once: a rank that went on would wait for this one.
[[noreturn]] void fail(const char* file, int line, const std::string& what);

#define EXPECT(condition)                                                                                    \
    do {                                                                                                     \
        if (!(condition)) plugin_test::fail(__FILE__, __LINE__, #condition);                                 \
    } while (false)
#define EXPECT_EQ(a, b) plugin_test::expect_equal(__FILE__, __LINE__, #a " == " #b, (a), (b))

template <class A, class B>
void expect_equal(const char* file, int line, const char* text, const A& a, const B& b)
{
    if (a == static_cast<A>(b)) return;
    if constexpr (std::is_convertible_v<A, std::string>)
        fail(file, line, std::string(text) + ": '" + a + "' and '" + std::string(b) + "'");
    else if constexpr (std::is_arithmetic_v<A>)
        fail(file, line,
             std::string(text) + ": " + std::to_string(a) + " and " + std::to_string(static_cast<A>(b)));
    else
        fail(file, line, text);
}

// What `call` throws; empty where it throws nothing.
std::string error_of(const std::function<void()>& call);
bool contains(const std::string& text, const std::string& part);

// An IO of the engine of this run, for the stream `name`.
adios2::ADIOS make_adios(MPI_Comm comm = MPI_COMM_WORLD);
adios2::IO make_io(adios2::ADIOS& adios, const std::string& io_name, const std::string& name,
                   const adios2::Params& more = {},
                   adios2::ArrayOrdering order = adios2::ArrayOrdering::Auto);
std::string location_of(const std::string& name);
// comm: given to Open, in the MPI build.
adios2::Engine open(adios2::IO& io, const std::string& name, adios2::Mode mode,
                    MPI_Comm comm = MPI_COMM_NULL);

using Case = void (*)();
std::map<std::string, Case>& cases();
struct Register {
    Register(const char* name, Case body) { cases()[name] = body; }
};
#define CASE(name)                                                                                           \
    static void case_##name();                                                                               \
    static const plugin_test::Register register_##name(#name, case_##name);                                  \
    static void case_##name()

} // namespace plugin_test

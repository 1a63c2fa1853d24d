// A feature of ADIOS2, tested by comparison: a program writes and reads through BP5 and through Stepstore,
// and what it saw must be the same. Written once per feature: what is put, and what a reader looks at in a
// step. Read step by step (Mode::Read) and at random (Mode::ReadRandomAccess), by as many ranks as wrote or
// by another number.
#pragma once

#include "harness.h"

#include <complex>
#include <memory>
#include <sstream>

namespace plugin_test {

using adios2::Dims;

// What a reader saw, one line for each look.
class Transcript {
public:
    template <class T>
    void note(const std::string& what, const std::vector<T>& values)
    {
        std::ostringstream line;
        line.precision(20);
        line << what << ":";
        for (const auto& value : values) {
            line << " ";
            if constexpr (sizeof(T) == 1)
                line << static_cast<int>(value);
            else
                line << value;
        }
        lines.push_back(line.str());
    }
    void note(const std::string& what) { lines.push_back(what); }

    std::vector<std::string> lines;
};

// Who writes, as the feature sees it.
struct Writers {
    std::size_t rank = 0;
    std::size_t ranks = 1;
};

// A reader in a step: of a stream, or of one that is read at random.
struct View {
    adios2::IO& io;
    adios2::Engine& engine;
    std::size_t step;
    std::size_t writers;
    bool random;
    Transcript& seen;

    // The variable, its whole array selected; at random also the step, counted among the steps that have the
    // variable.
    template <class T>
    adios2::Variable<T> variable(const std::string& name, std::size_t relative_step)
    {
        auto variable = io.InquireVariable<T>(name);
        if (!variable) fail(__FILE__, __LINE__, "step " + std::to_string(step) + " has no variable " + name);
        if (random) variable.SetStepSelection({relative_step, 1});
        return variable;
    }
    template <class T>
    adios2::Variable<T> variable(const std::string& name)
    {
        return variable<T>(name, step);
    }
    // Gets what is selected into as many elements, and notes them.
    template <class T>
    std::vector<T> get(const std::string& what, adios2::Variable<T>& variable, std::size_t elements,
                       adios2::Mode mode = adios2::Mode::Sync)
    {
        std::vector<T> values(elements + 1, T(77)); // the last stays as it is
        engine.Get(variable, values.data(), mode);
        if (mode == adios2::Mode::Deferred) engine.PerformGets();
        if (values.back() != T(77)) fail(__FILE__, __LINE__, what + ": a get wrote beyond its selection");
        values.pop_back();
        seen.note(what, values);
        return values;
    }
};

class Feature {
public:
    virtual ~Feature() = default;
    virtual std::size_t steps() const { return 3; }
    virtual void define(adios2::IO&, const Writers&) {}
    virtual void put(adios2::IO& io, adios2::Engine& engine, std::size_t step, const Writers& writers) = 0;
    virtual void look(View& view) = 0;
};

// The first so many ranks of the run, for one opening each.
class Group {
public:
    explicit Group(int ranks);
    ~Group();
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    bool member() const { return comm_ != MPI_COMM_NULL; }
    MPI_Comm comm() const { return comm_; }
    // Before opening. BP5 is told by the ADIOS object who opens; the plugin takes the world unless it is
    // handed a communicator.
    void hand_over(const std::string& name) const;

private:
    MPI_Comm comm_ = MPI_COMM_NULL;
    bool all_ = false;
};

struct Comparison {
    int writers = run.ranks;
    std::vector<int> readers = {run.ranks};
    bool random = true; // also Mode::ReadRandomAccess
};

using MakeFeature = std::unique_ptr<Feature> (*)();
void compare_with_bp5(MakeFeature make, const Comparison& how = {});

#define FEATURE(name, type)                                                                                  \
    CASE(name)                                                                                               \
    {                                                                                                        \
        plugin_test::compare_with_bp5(                                                                       \
            []() -> std::unique_ptr<plugin_test::Feature> { return std::make_unique<type>(); });             \
    }

} // namespace plugin_test

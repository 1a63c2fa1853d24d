// Walks through the steps of a file, and hands every attribute, variable and block to what writes it into a
// stream, or compares it with one.
#include "copy_file.h"

#include "copied_variable.h"
#include "stepstore/error.h"

#include <adios2.h>
#include <daos_errno.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace stepstore::adios {

namespace {

thread_local std::string last_error;

// Calls `each` with a null pointer of the attribute's type.
template <class Each>
void with_type(const std::string& type, Each&& each)
{
#define STEPSTORE_TYPE(T)                                                                                    \
    if (type == adios2::GetType<T>()) return each(static_cast<T*>(nullptr));
    ADIOS2_FOREACH_ATTRIBUTE_STDTYPE_1ARG(STEPSTORE_TYPE)
#undef STEPSTORE_TYPE
    throw Error(-DER_NOSYS, "attributes of the type " + type + " cannot be copied");
}

// Bit by bit, as NaN is a value that attributes have, but for what pads a number to its size.
template <class T>
bool same(const std::vector<T>& some, const std::vector<T>& others)
{
    if constexpr (std::is_same_v<T, std::string>) {
        return some == others;
    } else {
        const auto bytes_of = [](const T& one) {
            return std::as_bytes(std::span(&one, 1)).first(std::is_same_v<T, long double> ? 10 : sizeof(T));
        };
        return std::ranges::equal(some, others, [&](const T& one, const T& other) {
            return std::ranges::equal(bytes_of(one), bytes_of(other));
        });
    }
}

// A reader that a difference leaves open: ADIOS2 warns of it on stderr.
void close_quietly(adios2::Engine& engine) noexcept
{
    try {
        if (engine) engine.Close();
    } catch (const std::exception&) { // there is an error already
    }
}

class Taker {
public:
    virtual ~Taker() = default;
    virtual void begin(std::uint64_t step) = 0;
    virtual void attribute(adios2::IO& source, const std::string& name, const std::string& type) = 0;
    virtual void block(CopiedVariable& of, std::size_t block, const Memory& memory) = 0;
    virtual void end_variable(const CopiedVariable& /*of*/) {}
    virtual void end(adios2::IO& source) = 0;
    virtual void close(std::uint64_t steps) = 0;
};

class StreamWriter final : public Taker {
public:
    StreamWriter(adios2::ADIOS& adios, const std::string& location, std::uint64_t skip)
        : io_(adios.DeclareIO("to"))
    {
        io_.SetEngine("Stepstore");
        io_.SetParameters({{"Location", location}, {"AppendAfterSteps", std::to_string(skip)}});
        engine_ = io_.Open("stream", skip > 0 ? adios2::Mode::Append : adios2::Mode::Write);
    }
    void begin(std::uint64_t /*step*/) override { engine_.BeginStep(); }
    void attribute(adios2::IO& source, const std::string& name, const std::string& type) override
    {
        with_type(type, [&]<class T>(T*) {
            const auto attribute = source.InquireAttribute<T>(name);
            const auto data = attribute.Data();
            const auto known = io_.InquireAttribute<T>(name);
            if (known && same(known.Data(), data)) return;
            if (attribute.IsValue())
                io_.DefineAttribute<T>(name, data.at(0), "", "/", true);
            else
                io_.DefineAttribute<T>(name, data.data(), data.size(), "", "/", true);
        });
    }
    void block(CopiedVariable& of, std::size_t block, const Memory& memory) override
    {
        adios2::VariableNT& to = defined(of, block);
        if (of.is_own_string()) {
            // It is one value, without a selection.
        } else if (of.kind == adios2::ShapeID::GlobalArray) {
            to.SetShape(of.variable.Shape());
            to.SetSelection({of.blocks[block].Start, of.blocks[block].Count});
        } else if (!of.is_value()) {
            to.SetSelection({{}, of.blocks[block].Count});
        }
        engine_.Put(to, const_cast<Memory&>(memory).data(), adios2::Mode::Sync);
    }
    void end(adios2::IO& /*source*/) override { engine_.EndStep(); }
    void close(std::uint64_t /*steps*/) override { engine_.Close(); }

private:
    adios2::VariableNT& defined(CopiedVariable& of, std::size_t block)
    {
        const auto known = variables_.find(of.name);
        if (known != variables_.end()) return known->second;
        adios2::Dims shape, start, count;
        if (!of.is_value()) count = of.blocks[block].Count;
        if (of.kind == adios2::ShapeID::GlobalArray) {
            shape = of.variable.Shape();
            start = of.blocks[block].Start;
        }
        if (of.is_own_string()) {
            shape = {adios2::LocalValueDim};
            start = count = {};
        }
        const adios2::VariableNT made =
            of.type == adios2::DataType::Struct
                ? io_.DefineStructVariable(of.name, definition(of.variable.GetWriteStructDef()), shape, start,
                                           count)
                : io_.DefineVariable(of.type, of.name, shape, start, count);
        return variables_.emplace(of.name, made).first->second;
    }
    // One for each variable: two structs of a file may have the same name.
    adios2::StructDefinition definition(adios2::StructDefinition of)
    {
        adios2::StructDefinition made = io_.DefineStruct(of.StructName(), of.StructSize());
        for (std::size_t i = 0; i < of.Fields(); ++i)
            made.AddField(of.Name(i), of.Offset(i), of.Type(i), of.ElementCount(i));
        return made;
    }

    adios2::IO io_;
    adios2::Engine engine_;
    std::map<std::string, adios2::VariableNT> variables_;
};

class Comparer final : public Taker {
public:
    Comparer(adios2::ADIOS& adios, std::string location)
        : location_(std::move(location)), io_(adios.DeclareIO("copied"))
    {
        io_.SetEngine("Stepstore");
        io_.SetParameter("Location", location_);
        engine_ = io_.Open("stream", adios2::Mode::Read);
    }
    ~Comparer() override { close_quietly(engine_); }
    void begin(std::uint64_t step) override
    {
        step_ = step;
        if (engine_.BeginStep(adios2::StepMode::Read, 0) != adios2::StepStatus::OK)
            differs("has no step " + std::to_string(step));
    }
    void attribute(adios2::IO& source, const std::string& name, const std::string& type) override
    {
        with_type(type, [&]<class T>(T*) {
            const auto copied = io_.InquireAttribute<T>(name);
            const auto old = source.InquireAttribute<T>(name);
            if (!copied || copied.IsValue() != old.IsValue() || !same(copied.Data(), old.Data()))
                differs("has another attribute " + name);
        });
    }
    void block(CopiedVariable& of, std::size_t block, const Memory& memory) override
    {
        if (!current_ || current_->name != of.name) look_for(of);
        const auto &old = of.blocks[block], &now = current_->blocks[block];
        if (!of.is_value() && (old.Start != now.Start || old.Count != now.Count))
            differs("has another block " + std::to_string(block) + " of " + of.name);
        if (current_->get(engine_, block) != memory)
            differs("has other bytes in block " + std::to_string(block) + " of " + of.name);
    }
    void end_variable(const CopiedVariable& of) override
    {
        if (of.blocks.empty()) return;
        ++variables_;
    }
    void end(adios2::IO& /*source*/) override
    {
        if (variables_of(io_).size() != variables_) differs("has other variables");
        variables_ = 0;
        current_.reset();
        engine_.EndStep();
    }
    void close(std::uint64_t steps) override
    {
        if (engine_.BeginStep(adios2::StepMode::Read, 0) == adios2::StepStatus::OK)
            differs("has more than " + std::to_string(steps) + " steps");
        engine_.Close();
    }

private:
    void look_for(const CopiedVariable& of)
    {
        current_.reset();
        if (io_.InquireVariableType(of.name) != of.type) differs("has no such variable: " + of.name);
        current_ = std::make_unique<CopiedVariable>(io_, engine_, of.name);
        if (current_->structure() != of.structure()) differs("has another struct of " + of.name);
        if (current_->kind != of.kind || current_->blocks.size() != of.blocks.size() ||
            (of.kind == adios2::ShapeID::GlobalArray &&
             current_->variable.Shape() != adios2::VariableNT(of.variable).Shape()))
            differs("has another shape, or other blocks, of " + of.name);
    }
    [[noreturn]] void differs(const std::string& what) const
    {
        throw Error(-DER_CSUM, "compare the copy " + location_ + " with its source: in step " +
                                   std::to_string(step_) + " it " + what +
                                   ": remove it, and copy the file again");
    }

    std::string location_;
    adios2::IO io_;
    adios2::Engine engine_;
    std::unique_ptr<CopiedVariable> current_;
    std::size_t variables_ = 0;
    std::uint64_t step_ = 0;
};

class FileWalk {
public:
    FileWalk(adios2::ADIOS& adios, const std::string& file, stepstore_moved moved, void* arg)
        : io_(adios.DeclareIO("from")), moved_(moved), arg_(arg)
    {
        io_.SetEngine("BPFile");
        engine_ = io_.Open(file, adios2::Mode::Read);
    }
    ~FileWalk() { close_quietly(engine_); }
    stepstore_file_copied run(Taker& taker, std::uint64_t skip)
    {
        stepstore_file_copied done{};
        for (;; ++done.steps) {
            const adios2::StepStatus status = engine_.BeginStep(adios2::StepMode::Read, 0);
            done.ended = status == adios2::StepStatus::EndOfStream;
            if (status != adios2::StepStatus::OK) break;
            if (done.steps >= skip) done.blocks += step(taker, done.steps);
            engine_.EndStep();
        }
        engine_.Close();
        taker.close(done.steps);
        return done;
    }

private:
    std::uint64_t step(Taker& taker, std::uint64_t number)
    {
        std::uint64_t blocks = 0;
        taker.begin(number);
        for (const auto& [name, about] : io_.AvailableAttributes())
            taker.attribute(io_, name, about.at("Type"));
        for (const auto& name : variables_of(io_)) {
            CopiedVariable variable(io_, engine_, name);
            for (std::size_t block = 0; block < variable.blocks.size(); ++block, ++blocks) {
                const Memory memory = variable.get(engine_, block);
                taker.block(variable, block, memory);
                if (moved_(memory.size(), arg_) != 0) throw Error(-DER_CANCELED, "the copy was interrupted");
            }
            taker.end_variable(variable);
        }
        taker.end(io_);
        return blocks;
    }

    adios2::IO io_;
    adios2::Engine engine_;
    stepstore_moved moved_;
    void* arg_;
};

// ADIOS2's message, without the colours of a terminal.
std::string plain(const std::string& message)
{
    std::string text;
    bool is_text = true;
    for (const char one : message) {
        if (one == '\033') is_text = false;
        if (is_text && one != '\n') text += one;
        if (one == 'm') is_text = true;
    }
    return text;
}

template <class Call>
int code_of(const std::string& file, Call&& call)
{
    try {
        call();
        return 0;
    } catch (const Error& error) {
        last_error = error.what();
        return error.code();
    } catch (const std::exception& error) { // ADIOS2's
        last_error = "read " + file + ": " + plain(error.what());
        if (last_error.find("StructDefinition") != std::string::npos)
            last_error += ": ADIOS2 opens no file with structs that have complex numbers or characters";
        return -DER_IO;
    }
}

} // namespace
} // namespace stepstore::adios

using namespace stepstore::adios;

extern "C" {

int stepstore_adios2_copy_file(const char* file, const char* location, std::uint64_t skip,
                               stepstore_moved moved, void* arg, stepstore_file_copied* done)
{
    return code_of(file, [&] {
        adios2::ADIOS adios;
        StreamWriter writer(adios, location, skip);
        *done = FileWalk(adios, file, moved, arg).run(writer, skip);
    });
}

int stepstore_adios2_compare_file(const char* file, const char* location, stepstore_moved moved, void* arg,
                                  stepstore_file_copied* done)
{
    return code_of(file, [&] {
        adios2::ADIOS adios;
        Comparer comparer(adios, location);
        *done = FileWalk(adios, file, moved, arg).run(comparer, 0);
    });
}

const char* stepstore_adios2_copy_error(void)
{
    return last_error.c_str();
}
}

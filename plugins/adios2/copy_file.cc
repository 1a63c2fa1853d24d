// Walks through the steps of a file, and hands every attribute, variable and block to what writes it into a
// stream, or compares it with one.
#include "copy_file.h"

#include "stepstore/error.h"

#include <adios2.h>
#include <daos_errno.h>

#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace stepstore::adios {

namespace {

thread_local std::string last_error;

// The memory of one block: bytes, or a text.
struct Memory {
    std::vector<std::byte> bytes;
    std::string text;
    bool is_text = false;
    void* data() { return is_text ? static_cast<void*>(&text) : bytes.data(); }
    std::uint64_t size() const { return is_text ? text.size() : bytes.size(); }
    friend bool operator==(const Memory&, const Memory&) = default;
};

adios2::VariableNT inquire(adios2::IO& io, const std::string& name)
{
    return io.InquireVariableType(name) == adios2::DataType::Struct ? io.InquireStructVariable(name)
                                                                    : io.InquireVariable(name);
}

// One variable of the current step.
struct Variable {
    std::string name;
    adios2::DataType type;
    adios2::VariableNT variable;
    adios2::ShapeID kind;
    std::vector<adios2::VariableNT::Info> blocks;
    bool shows_values = false;

    Variable(adios2::IO& io, adios2::Engine& engine, const std::string& of)
        : name(of), type(io.InquireVariableType(of)), variable(inquire(io, of)), kind(variable.ShapeID()),
          blocks(engine.BlocksInfo(variable, engine.CurrentStep()))
    {
        // Local values are shown as an array with an element for each. In BP4 the blocks do not say where.
        shows_values = kind == adios2::ShapeID::GlobalArray && !blocks.empty() && blocks.front().IsValue;
        for (std::size_t i = 0; shows_values && i < blocks.size(); ++i) {
            blocks[i].Start = {i};
            blocks[i].Count = {1};
        }
    }
    bool is_value() const
    {
        return kind == adios2::ShapeID::GlobalValue || kind == adios2::ShapeID::LocalValue;
    }
    // What a block is called for a get: its selection, as far as its kind has one.
    Memory get(adios2::Engine& engine, std::size_t block)
    {
        if (shows_values)
            variable.SetSelection({blocks[block].Start, blocks[block].Count});
        else if (kind != adios2::ShapeID::GlobalValue)
            variable.SetBlockSelection(block);
        Memory memory;
        memory.is_text = type == adios2::DataType::String;
        if (!memory.is_text) {
            const adios2::Dims count = is_value() ? adios2::Dims() : blocks[block].Count;
            memory.bytes.resize(std::accumulate(count.begin(), count.end(), element_size(),
                                                [](std::size_t a, std::size_t b) { return a * b; }));
        }
        if (memory.is_text || !memory.bytes.empty()) engine.Get(variable, memory.data(), adios2::Mode::Sync);
        return memory;
    }
    std::size_t element_size()
    {
        return type == adios2::DataType::Struct ? variable.GetWriteStructDef().StructSize()
                                                : variable.Sizeof();
    }
};

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

class Taker {
public:
    virtual ~Taker() = default;
    virtual void begin(std::uint64_t step) = 0;
    virtual void attribute(adios2::IO& source, const std::string& name, const std::string& type) = 0;
    virtual void block(Variable& of, std::size_t block, const Memory& memory) = 0;
    virtual void end_variable(const Variable& /*of*/) {}
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
            if (known && known.Data() == data) return;
            if (attribute.IsValue())
                io_.DefineAttribute<T>(name, data.at(0), "", "/", true);
            else
                io_.DefineAttribute<T>(name, data.data(), data.size(), "", "/", true);
        });
    }
    void block(Variable& of, std::size_t block, const Memory& memory) override
    {
        adios2::VariableNT& to = defined(of, block);
        if (of.kind == adios2::ShapeID::GlobalArray) {
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
    adios2::VariableNT& defined(Variable& of, std::size_t block)
    {
        const auto known = variables_.find(of.name);
        if (known != variables_.end()) return known->second;
        adios2::Dims shape, start, count;
        if (!of.is_value()) count = of.blocks[block].Count;
        if (of.kind == adios2::ShapeID::GlobalArray) {
            shape = of.variable.Shape();
            start = of.blocks[block].Start;
        }
        if (of.kind == adios2::ShapeID::JoinedArray) shape = joined_shape(of, count);
        if (of.kind == adios2::ShapeID::LocalValue) shape = {adios2::LocalValueDim};
        const adios2::VariableNT made =
            of.type == adios2::DataType::Struct
                ? io_.DefineStructVariable(of.name, definition(of.variable.GetWriteStructDef()), shape, start,
                                           count)
                : io_.DefineVariable(of.type, of.name, shape, start, count);
        return variables_.emplace(of.name, made).first->second;
    }
    static adios2::Dims joined_shape(Variable& of, const adios2::Dims& count)
    {
        adios2::Dims shape = of.variable.Shape();
        std::size_t joined = 0; // the dimension in which the blocks do not cover the whole
        while (joined + 1 < shape.size() && shape[joined] == count[joined])
            ++joined;
        if (!shape.empty()) shape[joined] = adios2::JoinedDim;
        return shape;
    }
    adios2::StructDefinition definition(adios2::StructDefinition of)
    {
        const auto known = structures_.find(of.StructName());
        if (known != structures_.end()) return known->second;
        adios2::StructDefinition made = io_.DefineStruct(of.StructName(), of.StructSize());
        for (std::size_t i = 0; i < of.Fields(); ++i)
            made.AddField(of.Name(i), of.Offset(i), of.Type(i), of.ElementCount(i));
        made.Freeze();
        return structures_.emplace(of.StructName(), made).first->second;
    }

    adios2::IO io_;
    adios2::Engine engine_;
    std::map<std::string, adios2::VariableNT> variables_;
    std::map<std::string, adios2::StructDefinition> structures_;
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
            if (!copied || copied.IsValue() != old.IsValue() || copied.Data() != old.Data())
                differs("has another attribute " + name);
        });
    }
    void block(Variable& of, std::size_t block, const Memory& memory) override
    {
        if (!current_ || current_->name != of.name) look_for(of);
        const auto &old = of.blocks[block], &now = current_->blocks[block];
        if (!of.is_value() && (old.Start != now.Start || old.Count != now.Count))
            differs("has another block " + std::to_string(block) + " of " + of.name);
        if (current_->get(engine_, block) != memory)
            differs("has other bytes in block " + std::to_string(block) + " of " + of.name);
    }
    void end_variable(const Variable& of) override
    {
        if (of.blocks.empty()) return;
        ++variables_;
    }
    void end(adios2::IO& /*source*/) override
    {
        if (io_.AvailableVariables().size() != variables_) differs("has other variables");
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
    void look_for(const Variable& of)
    {
        current_.reset();
        if (io_.InquireVariableType(of.name) != of.type) differs("has no such variable: " + of.name);
        current_ = std::make_unique<Variable>(io_, engine_, of.name);
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
    std::unique_ptr<Variable> current_;
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
        for (const auto& [name, about] : io_.AvailableVariables()) {
            Variable variable(io_, engine_, name);
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

template <class Call>
int code_of(Call&& call)
{
    try {
        call();
        return 0;
    } catch (const Error& error) {
        last_error = error.what();
        return error.code();
    } catch (const std::exception& error) { // ADIOS2's
        last_error = error.what();
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
    return code_of([&] {
        adios2::ADIOS adios;
        StreamWriter writer(adios, location, skip);
        *done = FileWalk(adios, file, moved, arg).run(writer, skip);
    });
}

int stepstore_adios2_compare_file(const char* file, const char* location, stepstore_moved moved, void* arg,
                                  stepstore_file_copied* done)
{
    return code_of([&] {
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

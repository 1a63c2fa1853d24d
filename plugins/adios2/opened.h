// A stream that a program has opened, for writing or for reading: what both doors to the engine forward to.
#pragma once

#include "read.h"
#include "write.h"

#include <memory>
#include <variant>

namespace stepstore::adios {

class Opened {
public:
    // host: what ADIOS2 asks about the variables of a reader; may be null.
    Opened(adios2::IO io, Parameters parameters, adios2::Mode mode,
           const std::shared_ptr<Communicator>& communicator, adios2::core::Engine* host)
    {
        parameters.writer.append = mode == adios2::Mode::Append;
        if (writes(mode))
            adapter_ = std::make_unique<WriteAdapter>(io, parameters, communicator);
        else
            adapter_ = std::make_unique<ReadAdapter>(io, parameters, communicator, host);
    }
    static bool writes(adios2::Mode mode)
    {
        return mode == adios2::Mode::Write || mode == adios2::Mode::Append;
    }

    bool writing() const { return std::holds_alternative<std::unique_ptr<WriteAdapter>>(adapter_); }
    WriteAdapter& writer() const
    {
        if (!writing()) throw Error(-DER_INVAL, "stepstore: Put on an engine that was opened for reading");
        return *std::get<std::unique_ptr<WriteAdapter>>(adapter_);
    }
    ReadAdapter& reader() const
    {
        if (writing()) throw Error(-DER_INVAL, "stepstore: Get on an engine that was opened for writing");
        return *std::get<std::unique_ptr<ReadAdapter>>(adapter_);
    }

    adios2::StepStatus begin_step(adios2::StepMode mode, float timeout_seconds)
    {
        return writing() ? writer().begin_step(mode) : reader().begin_step(mode, timeout_seconds);
    }
    void end_step()
    {
        if (writing())
            writer().end_step();
        else
            reader().end_step();
    }
    std::size_t current_step() const { return writing() ? writer().current_step() : reader().current_step(); }
    std::size_t steps() const { return writing() ? writer().current_step() : reader().steps(); }
    void close()
    {
        if (writing())
            writer().close();
        else
            reader().close();
    }

private:
    std::variant<std::unique_ptr<WriteAdapter>, std::unique_ptr<ReadAdapter>> adapter_;
};

} // namespace stepstore::adios

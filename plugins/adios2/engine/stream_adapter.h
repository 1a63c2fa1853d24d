// A stream that a program has opened, for writing or for reading: what both doors to the engine forward to.
// Threads: one at a time, as all of an ADIOS2 engine. Errors: stepstore::Error; the doors translate
// (adios_errors.h).
#pragma once

#include "read.h"
#include "write.h"

#include <memory>
#include <variant>

namespace stepstore::adios {

class StreamAdapter {
public:
    // host: what ADIOS2 asks about the variables of a reader; may be null.
    StreamAdapter(adios2::IO io, Parameters parameters, adios2::Mode mode,
                  const std::shared_ptr<Communicator>& communicator, adios2::core::Engine* host)
    {
        parameters.writer.append = mode == adios2::Mode::Append;
        if (!writes(mode) && mode != adios2::Mode::Read && mode != adios2::Mode::ReadRandomAccess)
            throw Error(-DER_NOTSUPPORTED,
                        "stepstore: '" + parameters.location +
                            "' was opened in a mode that this engine does not have (Deferred ...): use "
                            "Mode::Write, Mode::Append, Mode::Read or Mode::ReadRandomAccess");
        if (communicator->rank() == 0) say_remarks(parameters);
        if (writes(mode))
            adapter_ = std::make_unique<WriteAdapter>(io, parameters, communicator);
        else
            adapter_ = std::make_unique<ReadAdapter>(io, parameters, communicator, host);
    }
    static bool writes(adios2::Mode mode)
    {
        return mode == adios2::Mode::Write || mode == adios2::Mode::Append || mode == adios2::Mode::Sync;
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
        if (!writing()) return reader().begin_step(mode, timeout_seconds);
        // Every step that is written is a new one.
        return writer().begin_step(mode == adios2::StepMode::Update ? adios2::StepMode::Append : mode);
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

#include "read.h"

#include "stepstore/printable.h"

#include <algorithm>
#include <iostream>
#include <utility>

namespace stepstore::adios {

ReadAdapter::ReadAdapter(adios2::IO io, const Parameters& parameters,
                         const std::shared_ptr<Communicator>& communicator, adios2::core::Engine* host)
    : io_(io), host_(host), parameters_(parameters)
{
    auto options = parameters.reader;
    if (parameters.reading != Reading::random) {
        options.mode = steps::ReadMode::stream;
        stream_.emplace(parameters.location, options, communicator).undo_operators(undoing(gets_));
    }
    const bool serial = communicator->size() == 1;
    if (parameters.reading == Reading::random ||
        (parameters.reading == Reading::automatic && serial && stream_->steps() > 0)) {
        options.mode = steps::ReadMode::random_access;
        random_.emplace(parameters.location, options, communicator).undo_operators(undoing(gets_));
        access_ = Access::random;
        show_all_at_random();
    }
}

// Shown to the program as an array: ADIOS2's engines show the local values of all ranks as one array of them.
// Through the plugin's interface an array of strings cannot be selected from.
bool ReadAdapter::shown_as_array(const steps::Variable& variable) const
{
    if (variable.kind == steps::ShapeKind::local_value)
        return host_ != nullptr || variable.type != steps::Type::string;
    return !steps::is_value(variable.kind);
}

steps::Reader& ReadAdapter::reader() const
{
    auto& chosen = access_ == Access::stream ? stream_ : random_;
    if (!chosen) throw Error(-DER_INVAL, "stepstore: the stream " + parameters_.location + " is closed");
    return const_cast<steps::Reader&>(*chosen);
}

std::string ReadAdapter::where() const
{
    return "on the stream " + reader().location().text();
}

bool ReadAdapter::reversed() const
{
    return reader().order() != parameters_.order;
}

steps::Dims ReadAdapter::in_program_order(steps::Dims dims) const
{
    if (reversed()) std::reverse(dims.begin(), dims.end());
    return dims;
}

adios2::StepStatus ReadAdapter::begin_step(adios2::StepMode mode, float timeout_seconds)
{
    if (mode != adios2::StepMode::Read)
        throw Error(-DER_NOTSUPPORTED, "stepstore: BeginStep with a step mode other than Read " + where() +
                                           ", which is open for reading");
    if (!stream_)
        throw Error(-DER_INVAL,
                    "stepstore: BeginStep " + where() +
                        ", which is read at random (parameter Reading=random): set Reading=stream");
    if (access_ == Access::random) {
        hide_all();
        // Those of the last step: each step is to show its own.
        for (const auto& [name, attribute] : attributes_)
            io_.RemoveAttribute(name);
        attributes_.clear();
        attribute_changes_ = 0;
        random_.reset();
        blocks_.clear();
        access_ = Access::stream;
    }
    if (std::exchange(ended_, false)) stream_->end_step();
    switch (stream_->begin_step(static_cast<double>(timeout_seconds))) {
    case steps::StepStatus::not_ready: return adios2::StepStatus::NotReady;
    case steps::StepStatus::end_of_stream: return adios2::StepStatus::EndOfStream;
    case steps::StepStatus::writer_died:
        if (!stream_->dead_writer().empty())
            std::cerr << "stepstore: there is no further step " << where() << ": its writer ("
                      << printable(stream_->dead_writer())
                      << ") died, so BeginStep returns OtherError. The steps before are whole. A writer "
                         "that opens the stream with Mode::Append continues after them\n";
        return adios2::StepStatus::OtherError;
    case steps::StepStatus::other_error: return adios2::StepStatus::OtherError;
    case steps::StepStatus::ok: break;
    }
    last_step_ = static_cast<std::size_t>(stream_->current_step());
    blocks_.clear();
    show_step();
    show_attributes(steps::this_step);
    return adios2::StepStatus::OK;
}

// Until the next begin_step programs may look at the variables of the step, as in BP5.
void ReadAdapter::end_step()
{
    if (access_ == Access::random || !in_step())
        throw Error(-DER_INVAL, "stepstore: EndStep without BeginStep " + where());
    perform_gets();
    ended_ = true;
}

bool ReadAdapter::in_step() const
{
    return access_ == Access::random ? random_.has_value() : stream_ && stream_->in_step() && !ended_;
}

bool ReadAdapter::has_step() const
{
    return access_ == Access::random ? random_.has_value() : stream_ && stream_->in_step();
}

std::size_t ReadAdapter::current_step() const
{
    return access_ == Access::random ? 0 : last_step_;
}

std::size_t ReadAdapter::steps() const
{
    return static_cast<std::size_t>(reader().steps());
}

void ReadAdapter::perform_gets()
{
    try {
        reader().perform_gets();
    } catch (...) {
        gets_.forget(); // the reader has dropped them too
        throw;
    }
    try {
        deliver(gets_);
    } catch (...) {
        gets_.forget();
        throw;
    }
}

void ReadAdapter::close()
{
    if (has_step()) perform_gets();
    if (stream_ && stream_->in_step()) stream_->end_step();
    if (stream_ || random_) reader().close(); // the one that was used; it stores the profile, if any
    stream_.reset();
    random_.reset();
    gets_.room = {};
    hide_all();
}

} // namespace stepstore::adios

#include "layouts/bp5.h"

#include <adios2.h>

#include <stdexcept>

namespace stepstore::bench {

namespace {

constexpr const char* variable_name = "metadata";

class Bp5 {
public:
    Bp5(const std::string& name, adios2::Mode mode, const adios2::Params& parameters, MPI_Comm ranks)
        : adios_(ranks), io_(adios_.DeclareIO("layouts"))
    {
        io_.SetEngine("BP5");
        io_.SetParameters(parameters);
        if (mode == adios2::Mode::Write)
            variable_ = io_.DefineVariable<std::string>(variable_name, {adios2::LocalValueDim});
        engine_ = io_.Open(name, mode);
    }

protected:
    adios2::ADIOS adios_;
    adios2::IO io_;
    adios2::Variable<std::string> variable_;
    adios2::Engine engine_;
};

class Bp5Writer final : public StepWriter, Bp5 {
public:
    Bp5Writer(const std::string& name, MPI_Comm ranks) : Bp5(name, adios2::Mode::Write, {}, ranks) {}
    void begin_step(std::string_view metadata) override
    {
        metadata_ = metadata;
        engine_.BeginStep();
        engine_.Put(variable_, metadata_, adios2::Mode::Sync);
    }
    void end_step() override { engine_.EndStep(); }
    void close() override { engine_.Close(); }

private:
    std::string metadata_;
};

class Bp5Reader final : public StepReader, Bp5 {
public:
    Bp5Reader(const std::string& name, double timeout, MPI_Comm ranks)
        : Bp5(name, adios2::Mode::Read, {{"OpenTimeoutSecs", std::to_string(timeout)}}, ranks),
          timeout_(timeout)
    {
    }
    bool begin_step() override
    {
        const adios2::StepStatus status =
            engine_.BeginStep(adios2::StepMode::Read, static_cast<float>(timeout_));
        if (status == adios2::StepStatus::NotReady || status == adios2::StepStatus::OtherError)
            throw std::runtime_error("BP5: no further step has come within " + std::to_string(timeout_) +
                                     " s");
        return status == adios2::StepStatus::OK;
    }
    std::string_view metadata(std::uint32_t writer) override
    {
        auto variable = io_.InquireVariable<std::string>(variable_name);
        if (!variable) throw std::runtime_error("BP5: the step has no variable");
        variable.SetSelection({{writer}, {1}});
        engine_.Get(variable, &metadata_, adios2::Mode::Sync);
        return metadata_;
    }
    void end_step() override { engine_.EndStep(); }
    void close() override { engine_.Close(); }

private:
    double timeout_;
    std::string metadata_;
};

} // namespace

const bool have_bp5 = true;

std::unique_ptr<StepWriter> open_bp5_writer(const std::string& name, MPI_Comm ranks)
{
    return std::make_unique<Bp5Writer>(name, ranks);
}

std::unique_ptr<StepReader> open_bp5_reader(const std::string& name, double timeout, MPI_Comm ranks)
{
    return std::make_unique<Bp5Reader>(name, timeout, ranks);
}

} // namespace stepstore::bench

// The timestep engine as the experiment uses it: a variable with one text of each rank, which lies in the
// metadata alone.
#include "layouts/experiment.h"
#include "steps/read/reader.h"
#include "steps/write/writer.h"
#include "stepstore/error.h"

#include <daos_errno.h>

namespace stepstore::bench {

namespace {

constexpr std::string_view variable_name = "metadata";

class OurWriter final : public StepWriter {
public:
    OurWriter(const std::string& location, const steps::WriterOptions& options,
              std::shared_ptr<Communicator> ranks)
        : writer_(location, options, std::move(ranks)),
          variable_(writer_.define(variable_name, steps::Type::string, steps::ShapeKind::local_value))
    {
        // As an ADIOS2 program that defines before it opens.
        writer_.agree(
            {{{std::string(variable_name), steps::Type::string, steps::ShapeKind::local_value, nullptr},
              {}}});
    }
    void begin_step(std::string_view metadata) override
    {
        writer_.begin_step();
        writer_.put_string(variable_, metadata);
    }
    void end_step() override { writer_.end_step(); }
    void close() override { writer_.close(); }
    steps::Costs costs() const override { return writer_.costs(); }

private:
    steps::Writer writer_;
    steps::VariableId variable_;
};

class OurReader final : public StepReader {
public:
    OurReader(const std::string& location, const steps::ReaderOptions& options, double timeout,
              std::shared_ptr<Communicator> ranks)
        : reader_(location, options, std::move(ranks)), timeout_(timeout)
    {
    }
    bool begin_step() override
    {
        const steps::StepStatus status = reader_.begin_step(timeout_);
        if (status == steps::StepStatus::not_ready)
            throw Error(-DER_TIMEDOUT, "no further step has come within " + std::to_string(timeout_) + " s");
        if (status == steps::StepStatus::writer_died)
            throw Error(-DER_CANCELED, "the writer has died: " + reader_.dead_writer());
        return status == steps::StepStatus::ok;
    }
    std::string_view metadata(std::uint32_t writer) override
    {
        metadata_ = reader_.get_string(reader_.find(variable_name).value(), writer);
        return metadata_;
    }
    void end_step() override { reader_.end_step(); }
    void close() override { reader_.close(); }
    steps::Costs costs() const override { return reader_.costs(); }

private:
    steps::Reader reader_;
    double timeout_;
    std::string metadata_;
};

} // namespace

std::unique_ptr<StepWriter> open_writer(const std::string& location, const steps::WriterOptions& options,
                                        std::shared_ptr<Communicator> ranks)
{
    return std::make_unique<OurWriter>(location, options, std::move(ranks));
}

std::unique_ptr<StepReader> open_reader(const std::string& location, const steps::ReaderOptions& options,
                                        double timeout, std::shared_ptr<Communicator> ranks)
{
    return std::make_unique<OurReader>(location, options, timeout, std::move(ranks));
}

} // namespace stepstore::bench

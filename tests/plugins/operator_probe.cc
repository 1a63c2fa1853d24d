// An operator plugin that turns every bit.
#include <adios2/plugin/PluginOperatorInterface.h>

#include <algorithm>

namespace {

class Turn final : public adios2::plugin::PluginOperatorInterface {
public:
    using PluginOperatorInterface::PluginOperatorInterface;
    std::size_t Operate(const char* from, const adios2::Dims&, const adios2::Dims& count,
                        const adios2::DataType type, char* to) override
    {
        std::size_t bytes = type == adios2::DataType::Double ? sizeof(double) : sizeof(float);
        for (const std::size_t extent : count)
            bytes *= extent;
        turn(from, bytes, to);
        return bytes;
    }
    std::size_t InverseOperate(const char* from, const std::size_t bytes, char* to) override
    {
        turn(from, bytes, to);
        return bytes;
    }
    bool IsDataTypeValid(const adios2::DataType type) const override
    {
        return type == adios2::DataType::Double || type == adios2::DataType::Float;
    }

private:
    static void turn(const char* from, std::size_t bytes, char* to)
    {
        std::transform(from, from + bytes, to, [](char c) { return static_cast<char>(~c); });
    }
};

} // namespace

extern "C" {

__attribute__((visibility("default"))) adios2::plugin::PluginOperatorInterface*
OperatorCreate(const adios2::Params& parameters)
{
    return new Turn(parameters);
}

__attribute__((visibility("default"))) void OperatorDestroy(adios2::plugin::PluginOperatorInterface* object)
{
    delete object;
}
}

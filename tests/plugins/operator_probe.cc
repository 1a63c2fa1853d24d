// An operator plugin that changes nothing.
#include <adios2/plugin/PluginOperatorInterface.h>

namespace {

class Copy final : public adios2::plugin::PluginOperatorInterface {
public:
    using PluginOperatorInterface::PluginOperatorInterface;
    std::size_t Operate(const char*, const adios2::Dims&, const adios2::Dims&, const adios2::DataType,
                        char*) override
    {
        return 0;
    }
    std::size_t InverseOperate(const char*, const std::size_t, char*) override { return 0; }
    bool IsDataTypeValid(const adios2::DataType) const override { return true; }
};

} // namespace

extern "C" {

__attribute__((visibility("default"))) adios2::plugin::PluginOperatorInterface*
OperatorCreate(const adios2::Params& parameters)
{
    return new Copy(parameters);
}

__attribute__((visibility("default"))) void OperatorDestroy(adios2::plugin::PluginOperatorInterface* object)
{
    delete object;
}
}

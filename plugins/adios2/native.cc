// The library that a line in adios2.xml or define_operator() loads. It makes the engine type Stepstore known.
// ADIOS2 loads libraries of operators when it reads its configuration, and of engines only at Open.
#include "stepstore/export.h"

#include <adios2/plugin/PluginOperatorInterface.h>

#include <cstdio>
#include <dlfcn.h>
#include <stdexcept>
#include <string>

namespace {

// Not linked to the plugin: ADIOS2 would find its EngineCreate here, and take this for an engine.
std::string make_engine_known()
{
    Dl_info self{};
    static const char here = 0;
    if (dladdr(&here, &self) == 0 || self.dli_fname == nullptr) return "its library cannot be found";
    std::string path = self.dli_fname;
    path = path.substr(0, path.rfind('/') + 1) + STEPSTORE_ADIOS2_FILE;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const auto call = [&](const char* name) { return library == nullptr ? nullptr : dlsym(library, name); };
    const auto make_known = reinterpret_cast<int (*)()>(call("stepstore_adios2_register"));
    const auto last_error = reinterpret_cast<const char* (*)()>(call("stepstore_adios2_last_error"));
    if (make_known == nullptr || last_error == nullptr) {
        const char* why = dlerror();
        return path + " cannot be loaded: " + (why != nullptr ? why : "it is of another version");
    }
    return make_known() == 0 ? "" : last_error();
}

// Stands for the operator that ADIOS2 has asked for. It must not be used on data.
class LoadsTheEngine final : public adios2::plugin::PluginOperatorInterface {
public:
    using PluginOperatorInterface::PluginOperatorInterface;
    std::size_t Operate(const char*, const adios2::Dims&, const adios2::Dims&, const adios2::DataType,
                        char*) override
    {
        refuse();
    }
    std::size_t InverseOperate(const char*, const std::size_t, char*) override { refuse(); }
    bool IsDataTypeValid(const adios2::DataType) const override { return false; } // ADIOS2 passes it over

private:
    [[noreturn]] static void refuse()
    {
        throw std::invalid_argument("stepstore: the operator of libstepstore_adios2_native.so only loads the "
                                    "engine: remove it from the variable's operations");
    }
};

} // namespace

extern "C" {

STEPSTORE_API adios2::plugin::PluginOperatorInterface* OperatorCreate(const adios2::Params& parameters)
{
    if (const std::string why = make_engine_known(); !why.empty())
        std::fprintf(stderr, "stepstore: there is no engine type Stepstore: %s\n", why.c_str());
    return new LoadsTheEngine(parameters);
}

STEPSTORE_API void OperatorDestroy(adios2::plugin::PluginOperatorInterface* object)
{
    delete object;
}
}

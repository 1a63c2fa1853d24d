// The library that a line in adios2.xml or define_operator() loads. It makes the engine type Stepstore known.
// ADIOS2 loads libraries of operators when it reads its configuration, and of engines only at Open.
#include "stepstore/export.h"

#include <adios2/plugin/PluginOperatorInterface.h>

#include <cstdio>
#include <dlfcn.h>
#include <stdexcept>
#include <string>
#include <strings.h>

namespace {

// Not linked to the plugin: ADIOS2 would find its EngineCreate here, and take this for an engine.
std::string make_engine_known(bool by_default)
{
    Dl_info self{};
    static const char here = 0;
    if (dladdr(&here, &self) == 0 || self.dli_fname == nullptr) return "its library cannot be found";
    std::string path = self.dli_fname;
    path = path.substr(0, path.rfind('/') + 1) + STEPSTORE_ADIOS2_FILE;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const auto call = [&](const char* name) { return library == nullptr ? nullptr : dlsym(library, name); };
    const auto make_known = reinterpret_cast<int (*)()>(
        call(by_default ? "stepstore_adios2_read_by_default" : "stepstore_adios2_register"));
    const auto last_error = reinterpret_cast<const char* (*)()>(call("stepstore_adios2_last_error"));
    if (make_known == nullptr || last_error == nullptr) {
        const char* why = dlerror();
        return path + " cannot be loaded: " + (why != nullptr ? why : "it is of another version");
    }
    return make_known() == 0 ? "" : last_error();
}

// The parameter Default=on of the operator.
bool wants_default(const adios2::Params& parameters)
{
    const auto is = [](const std::string& text, const char* what) {
        return strcasecmp(text.c_str(), what) == 0;
    };
    for (const auto& [name, value] : parameters)
        if (is(name, "Default"))
            return is(value, "on") || is(value, "true") || is(value, "yes") || is(value, "1");
    return false;
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
    if (const std::string why = make_engine_known(wants_default(parameters)); !why.empty())
        std::fprintf(stderr, "stepstore: there is no engine type Stepstore: %s\n", why.c_str());
    return new LoadsTheEngine(parameters);
}

STEPSTORE_API void OperatorDestroy(adios2::plugin::PluginOperatorInterface* object)
{
    delete object;
}
}

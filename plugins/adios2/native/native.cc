// The library that a line in adios2.xml or define_operator() loads. It makes the engine type Stepstore known.
// ADIOS2 loads libraries of operators when it reads its configuration, and of engines only at Open.
//
// It has no header of ADIOS2: the object that stands for the operator is made by the engine's library, which
// is made for the release at hand.
#include "stepstore/export.h"

#include <cstdio>
#include <dlfcn.h>
#include <map>
#include <stdexcept>
#include <string>
#include <strings.h>

namespace {

using Parameters = std::map<std::string, std::string>; // adios2::Params

[[noreturn]] void give_up(const std::string& why)
{
    throw std::runtime_error("stepstore: there is no engine type Stepstore: " + why);
}

// Not linked to the plugin: ADIOS2 would find its EngineCreate here, and take this for an engine.
void* plugin()
{
    Dl_info self{};
    static const char here = 0;
    if (dladdr(&here, &self) == 0 || self.dli_fname == nullptr) give_up("its library cannot be found");
    std::string path = self.dli_fname;
    path = path.substr(0, path.rfind('/') + 1) + STEPSTORE_ADIOS2_FILE;
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) return library;
    const char* why = dlerror();
    give_up(path + " cannot be loaded: " + (why != nullptr ? why : "dlopen() does not say why"));
}

template <class Function>
Function function(const char* name)
{
    if (auto found = reinterpret_cast<Function>(dlsym(plugin(), name))) return found;
    give_up(STEPSTORE_ADIOS2_FILE " is of another version of Stepstore: install it again");
}

const char* last_error()
{
    return function<const char* (*)()>("stepstore_adios2_last_error")();
}

// The parameter Default=on of the operator.
bool wants_default(const Parameters& parameters)
{
    const auto is = [](const std::string& text, const char* what) {
        return strcasecmp(text.c_str(), what) == 0;
    };
    for (const auto& [name, value] : parameters)
        if (is(name, "Default"))
            return is(value, "on") || is(value, "true") || is(value, "yes") || is(value, "1");
    return false;
}

} // namespace

extern "C" {

// An adios2::plugin::PluginOperatorInterface.
STEPSTORE_API void* OperatorCreate(const Parameters& parameters)
{
    const void* adios2 = __builtin_return_address(0);
    const auto make_known = function<int (*)(const void*, int)>("stepstore_adios2_register_at");
    int failed = make_known(adios2, 0);
    // An ADIOS2 of another compiler's ABI has other strings: they are looked at when its engine was loaded.
    if (failed == 0 && wants_default(parameters)) failed = make_known(adios2, 1);
    const std::string why = failed != 0 ? last_error() : "";
    const auto create = function<void* (*)(const void*, const void*)>("stepstore_adios2_create_operator");
    if (void* object = create(&parameters, adios2)) {
        if (failed != 0)
            std::fprintf(stderr, "stepstore: there is no engine type Stepstore: %s\n", why.c_str());
        return object;
    }
    give_up(why.empty() ? last_error() : why);
}

STEPSTORE_API void OperatorDestroy(void* object)
{
    if (object != nullptr) function<void (*)(void*)>("stepstore_adios2_destroy_operator")(object);
}
}

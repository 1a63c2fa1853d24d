// The back end as every build has it: it knows its paths, and loads the module when one is used.
#include "base/fork.h"
#include "base/module.h"
#include "stepstore/error.h"
#include "store/builtin.h"
#include "store/rados/location.h"
#include "store/rados/module.h"

#include <daos_errno.h>

#include <mutex>

namespace stepstore::store::rados {

Backend backend();

namespace {

const Module& module()
{
    static std::mutex loading; // guards `loaded`
    static const Module* loaded = nullptr;
    const std::lock_guard lock(loading);
    if (loaded != nullptr) return *loaded;
    std::string tried;
    if (void* factory = find_in_module(reinterpret_cast<const void*>(&backend), STEPSTORE_RADOS_MODULE_FILE,
                                       module_symbol, tried)) {
        loaded = reinterpret_cast<ModuleFactory>(factory)(module_version,
                                                          {held_over_fork, process_generation, interrupts()});
        tried = " the one that is there, which is of another version of Stepstore";
    }
    if (loaded != nullptr) return *loaded;
#ifdef STEPSTORE_WITH_RADOS
    throw Error(-DER_NOSYS, std::string("the RADOS module ") + STEPSTORE_RADOS_MODULE_FILE +
                                " cannot be loaded: install it beside this library, and Ceph's librados2 (" +
                                "apt install librados2). Tried:" + tried);
#else
    throw Error(-DER_NOSYS, "this build of Stepstore has no RADOS back end: install librados-dev and "
                            "libradospp-dev and build it with -DSTEPSTORE_RADOS=ON");
#endif
}

bool names(const std::string& path)
{
    return path.starts_with(rados_form.scheme);
}

// With one message for a path of a wrong form, also where there is no module.
void require_form(const std::string& path)
{
    if (!ceph_place(path))
        throw Error(-DER_BADPATH,
                    "pool " + path + ": not of the form rados://POOL or rados://POOL/NAMESPACE");
}

std::unique_ptr<Storage> create(const std::string& path, const NewPool& options)
{
    require_form(path);
    return module().create(path, options);
}

std::unique_ptr<Storage> open(const std::string& path)
{
    require_form(path);
    return module().open(path);
}

void destroy(const std::string& path)
{
    require_form(path);
    module().destroy(path);
}

Found look(const std::string& path)
{
    if (!ceph_place(path)) return Found::nothing;
    try {
        return module().look(path);
    } catch (const Error&) {
        return Found::nothing;
    }
}

} // namespace

Backend backend()
{
    return {"rados", create, open, destroy, look, names, 32};
}

} // namespace stepstore::store::rados

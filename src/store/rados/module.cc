#include "store/rados/module.h"

#include "stepstore/export.h"
#include "store/rados/backend.h"

namespace stepstore::store::rados {

static Host given{held_over_fork, process_generation, interrupts()};

const Host& host() noexcept
{
    return given;
}

} // namespace stepstore::store::rados

using namespace stepstore::store::rados;
using stepstore::go_by;

extern "C" STEPSTORE_API const Module* stepstore_rados_backend(unsigned version, const Host& host)
{
    static const Module module{create, open, destroy, look};
    if (version != module_version) return nullptr;
    [[maybe_unused]] static const bool first =
        (given = host, go_by(host.interrupts), true); // a test may have a second loader
    return &module;
}

extern "C" STEPSTORE_API void stepstore_rados_trips(Trips& counted)
{
    counted = trips();
}

// The list of back ends. Those of this library are named here, one line each. Static objects in their own
// files would not do: a linker takes from a static library only the files that something names.
#include "store/builtin.h"

namespace stepstore::store {

static std::vector<Backend>& registered()
{
    static std::vector<Backend> all{
        lmdb::backend(), // the default comes first
        memory::backend(),
        rados::backend(),
    };
    return all;
}

const std::vector<Backend>& backends()
{
    return registered();
}

void register_backend(const Backend& backend)
{
    registered().push_back(backend);
}

} // namespace stepstore::store

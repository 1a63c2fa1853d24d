// The back ends there are. Those of this library are named here, one line each, and not by static objects of
// their own files: a linker takes out of a static library only the files that something names.
#include "store/builtin.h"

namespace stepstore::store {

static std::vector<Backend>& registered()
{
    static std::vector<Backend> all{
        lmdb::backend(), // the default comes first
        memory::backend(),
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

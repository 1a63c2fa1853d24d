// The four functions of the back end.
// Threads: any. Errors: DER_EXIST, DER_NONEXIST, DER_BUSY, DER_INVAL, DER_DF_INVAL, DER_DF_INCOMPT,
// DER_NOTSUPPORTED, and those of the cluster (errors.h).
#pragma once

#include "store/backend.h"

namespace stepstore::store::rados {

std::unique_ptr<Storage> create(const std::string& path, const NewPool& options);
std::unique_ptr<Storage> open(const std::string& path);
void destroy(const std::string& path);
Found look(const std::string& path);

} // namespace stepstore::store::rados

// The four functions of the back end.
#pragma once

#include "store/backend.h"

namespace stepstore::store::rados {

std::unique_ptr<Storage> create(const std::string& path, const NewPool& options);
std::unique_ptr<Storage> open(const std::string& path);
void destroy(const std::string& path);
Found look(const std::string& path);

} // namespace stepstore::store::rados

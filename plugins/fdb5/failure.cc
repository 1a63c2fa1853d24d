#include "failure.h"

#include "daos_errno.h"

#include "eckit/exception/Exceptions.h"

namespace stepstore::fdb_plugin {

void rethrow(const Error& error)
{
    const std::string text = std::string("Stepstore: ") + error.what();
    switch (error.code()) {
    case -DER_INVAL:
    case -DER_NO_PERM:
    case -DER_NONEXIST: throw eckit::UserError(text);
    case -DER_NOSPACE: throw eckit::WriteError(text);
    default: throw eckit::Exception(text);
    }
}

void refuse(const std::string& message)
{
    throw eckit::UserError("Stepstore: " + message);
}

} // namespace stepstore::fdb_plugin

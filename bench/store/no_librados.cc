// As librados_subject.cc, in a build without Ceph.
#include "subject.h"

#include <stdexcept>

namespace stepstore::bench {

std::unique_ptr<Subject> open_librados(const Case&, const Location&, unsigned)
{
    throw std::runtime_error("this build has no librados: install librados-dev and build again");
}

void remove_librados(const Location&)
{
}

} // namespace stepstore::bench

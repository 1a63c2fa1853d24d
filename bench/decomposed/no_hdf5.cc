#include "subject.h"

namespace stepstore::bench {

std::unique_ptr<Subject> make_parallel_hdf5(const std::string&)
{
    return nullptr;
}

} // namespace stepstore::bench

// Of builds without parallel HDF5: there is no such subject.
#include "subject.h"

namespace stepstore::bench {

std::unique_ptr<Subject> make_parallel_hdf5(const std::string&)
{
    return nullptr;
}

} // namespace stepstore::bench

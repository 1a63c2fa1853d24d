// Where there is no ADIOS2 with MPI.
#include "layouts/bp5.h"

#include <stdexcept>

namespace stepstore::bench {

namespace {

[[noreturn]] void refuse()
{
    throw std::runtime_error("this program was built without an ADIOS2 that has MPI: it has no BP5");
}

} // namespace

const bool have_bp5 = false;

std::unique_ptr<StepWriter> open_bp5_writer(const std::string& /*name*/, MPI_Comm /*ranks*/)
{
    refuse();
}

std::unique_ptr<StepReader> open_bp5_reader(const std::string& /*name*/, double /*timeout*/,
                                            MPI_Comm /*ranks*/)
{
    refuse();
}

} // namespace stepstore::bench

// File systems in containers (daos_fs.h) for Python.
#include "open_pool.h"

#include "base/errno_of.h"

#include <daos_fs.h>

namespace stepstore::python {

namespace {

// A code whose errno it is.
int code_of(int number)
{
    for (const int code : {DER_EXIST, DER_INVAL, DER_NONEXIST, DER_NOSPACE, DER_NOTSUPPORTED, DER_NO_PERM,
                           DER_NOMEM, DER_TIMEDOUT, DER_BUSY})
        if (errno_of(-code) == number) return -code;
    return -DER_IO;
}

void create_file_system(const std::string& pool, const std::string& label, std::uint64_t chunk_size)
{
    const OpenPool open(pool, DAOS_PC_RW);
    dfs_attr_t attributes{};
    attributes.da_chunk_size = chunk_size;
    const int number =
        dfs_cont_create_with_label(open.get(), label.c_str(), &attributes, nullptr, nullptr, nullptr);
    if (number != 0) throw Error(code_of(number), dfs_last_message());
}

} // namespace

void bind_file_systems(nb::module_& module)
{
    module.def(
        "create_file_system",
        [](const std::string& pool, const std::string& label, std::uint64_t chunk_size) {
            unlocked([&] { create_file_system(pool, label, chunk_size); });
        },
        nb::arg("pool"), nb::arg("label"), nb::arg("chunk_size") = 0);
}

} // namespace stepstore::python

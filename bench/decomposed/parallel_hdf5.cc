// The array as a dataset of one HDF5 file, with collective transfers.
#include "subject.h"

#include <cstdio>
#include <hdf5.h>
#include <stdexcept>

namespace stepstore::bench {
namespace {

hid_t check(hid_t result, const char* call)
{
    if (result < 0) throw std::runtime_error(std::string(call) + " failed (HDF5 told why above)");
    return result;
}

// An HDF5 identifier and the call that closes it.
class Held {
public:
    using Close = herr_t (*)(hid_t);
    Held(hid_t id, Close close, const char* call) : id_(check(id, call)), close_(close) {}
    ~Held()
    {
        if (id_ >= 0) close_(id_);
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    operator hid_t() const { return id_; }
    void close(const char* call)
    {
        const hid_t id = id_;
        id_ = -1;
        check(close_(id), call);
    }

private:
    hid_t id_;
    Close close_;
};

std::vector<hsize_t> sizes(const std::vector<std::uint64_t>& numbers)
{
    return {numbers.begin(), numbers.end()};
}

class ParallelHdf5 final : public Subject {
public:
    explicit ParallelHdf5(std::string file) : file_(std::move(file)) {}
    const char* name() const override { return "HDF5"; }

    void write(const Block& block, const std::vector<double>& memory) override
    {
        const Held access = collective_access();
        Held file(H5Fcreate(file_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose, "H5Fcreate");
        const auto shape = sizes(block.shape);
        const Held space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose,
                         "H5Screate_simple");
        Held data(H5Dcreate2(file, "array", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                  H5Dclose, "H5Dcreate2");
        transfer(data, block, [&](hid_t memory_space, hid_t file_space, hid_t how) {
            check(H5Dwrite(data, H5T_NATIVE_DOUBLE, memory_space, file_space, how, memory.data()),
                  "H5Dwrite");
        });
        data.close("H5Dclose");
        file.close("H5Fclose");
    }

    void read(const Block& block, std::vector<double>& memory) override
    {
        const Held access = collective_access();
        const Held file(H5Fopen(file_.c_str(), H5F_ACC_RDONLY, access), H5Fclose, "H5Fopen");
        const Held data(H5Dopen2(file, "array", H5P_DEFAULT), H5Dclose, "H5Dopen2");
        transfer(data, block, [&](hid_t memory_space, hid_t file_space, hid_t how) {
            check(H5Dread(data, H5T_NATIVE_DOUBLE, memory_space, file_space, how, memory.data()), "H5Dread");
        });
    }

    void remove() override
    {
        if (my_rank() == 0) std::remove(file_.c_str());
    }

private:
    static Held collective_access()
    {
        const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
        check(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL), "H5Pset_fapl_mpio");
        return Held(access, H5Pclose, "H5Pcreate");
    }

    template <typename Call>
    static void transfer(hid_t data, const Block& block, Call call)
    {
        const auto start = sizes(block.start), count = sizes(block.count);
        const Held file_space(H5Dget_space(data), H5Sclose, "H5Dget_space");
        check(H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
              "H5Sselect_hyperslab");
        const Held memory_space(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr),
                                H5Sclose, "H5Screate_simple");
        const Held how(H5Pcreate(H5P_DATASET_XFER), H5Pclose, "H5Pcreate");
        check(H5Pset_dxpl_mpio(how, H5FD_MPIO_COLLECTIVE), "H5Pset_dxpl_mpio");
        call(memory_space, file_space, how);
    }

    std::string file_;
};

} // namespace

std::unique_ptr<Subject> make_parallel_hdf5(const std::string& directory)
{
    return std::make_unique<ParallelHdf5>(directory + "/hdf5.h5");
}

} // namespace stepstore::bench

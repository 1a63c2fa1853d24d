// The array in one file through MPI_File_write_all, with the block as a subarray view.
#include "subject.h"

#include <limits>
#include <stdexcept>

namespace stepstore::bench {
namespace {

void check(int result, const char* call)
{
    if (result == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(result, text, &length);
    throw std::runtime_error(std::string(call) + ": " + std::string(text, static_cast<std::size_t>(length)));
}

std::vector<int> narrow(const std::vector<std::uint64_t>& numbers)
{
    return {numbers.begin(), numbers.end()};
}

class MpiIo final : public Subject {
public:
    explicit MpiIo(std::string file) : file_(std::move(file)) {}
    const char* name() const override { return "MPI-IO"; }

    void write(const Block& block, const std::vector<double>& memory) override
    {
        run(block, MPI_MODE_CREATE | MPI_MODE_WRONLY, [&](MPI_File file, int count) {
            check(MPI_File_write_all(file, memory.data(), count, MPI_DOUBLE, MPI_STATUS_IGNORE),
                  "MPI_File_write_all");
        });
    }

    void read(const Block& block, std::vector<double>& memory) override
    {
        run(block, MPI_MODE_RDONLY, [&](MPI_File file, int count) {
            check(MPI_File_read_all(file, memory.data(), count, MPI_DOUBLE, MPI_STATUS_IGNORE),
                  "MPI_File_read_all");
        });
    }

    void remove() override
    {
        if (my_rank() == 0) MPI_File_delete(file_.c_str(), MPI_INFO_NULL);
    }

private:
    template <typename Transfer>
    void run(const Block& block, int mode, Transfer transfer)
    {
        if (block.elements() > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
            throw std::runtime_error("a block of more than 2^31 - 1 elements: use more ranks");
        MPI_File file = MPI_FILE_NULL;
        check(MPI_File_open(MPI_COMM_WORLD, file_.c_str(), mode, MPI_INFO_NULL, &file), "MPI_File_open");
        MPI_Datatype view = MPI_DATATYPE_NULL;
        const auto shape = narrow(block.shape), count = narrow(block.count), start = narrow(block.start);
        check(MPI_Type_create_subarray(static_cast<int>(shape.size()), shape.data(), count.data(),
                                       start.data(), MPI_ORDER_C, MPI_DOUBLE, &view),
              "MPI_Type_create_subarray");
        check(MPI_Type_commit(&view), "MPI_Type_commit");
        check(MPI_File_set_view(file, 0, MPI_DOUBLE, view, "native", MPI_INFO_NULL), "MPI_File_set_view");
        transfer(file, static_cast<int>(block.elements()));
        MPI_Type_free(&view);
        check(MPI_File_close(&file), "MPI_File_close");
    }

    std::string file_;
};

} // namespace

std::unique_ptr<Subject> make_mpi_io(const std::string& directory)
{
    return std::make_unique<MpiIo>(directory + "/mpi-io.dat");
}

} // namespace stepstore::bench

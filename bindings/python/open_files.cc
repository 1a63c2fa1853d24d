// Open files of file systems in containers for Python: reading and writing at offsets.
#include "files.h"

namespace stepstore::python {

namespace {

// Follows links. With O_CREAT one that points to nothing is no file.
Outcome open_at(dfs_t* fs, const std::string& path, int flags, mode_t mode, std::unique_ptr<Opened>& opened)
{
    if ((flags & O_EXCL) == 0) {
        opened = std::make_unique<Opened>(fs, path, flags & ~O_CREAT);
        const int number = opened->failed();
        if (number == 0 && !S_ISREG(opened->mode()))
            return {S_ISDIR(opened->mode()) ? EISDIR : EINVAL, "this is no file"};
        if (number != ENOENT || (flags & O_CREAT) == 0) return outcome_of(number);
    }
    opened = std::make_unique<Opened>(fs);
    return in_parent(fs, path, [&](dfs_obj_t* above, const char* name) {
        return outcome_of(dfs_open(fs, above, name, S_IFREG | mode, flags, 0, 0, nullptr, opened->place()));
    });
}

// Runs a call of libdfs with one piece of memory.
template <class Call>
void move_bytes(FileHandle& self, const std::byte* memory, std::size_t size, Call&& call)
{
    const Outcome outcome = self.use([&](const OpenFile& file) {
        d_iov_t piece;
        d_iov_set(&piece, const_cast<std::byte*>(memory), size); // NOLINT: the C interface has one type
        d_sg_list_t pieces{};
        pieces.sg_nr = 1;
        pieces.sg_iovs = &piece;
        return outcome_of(call(file.opened->fs(), file.opened->get(), &pieces));
    });
    require_done(outcome, "");
}

std::size_t read_into(FileHandle& self, std::uint64_t offset, MutableBytes memory)
{
    daos_size_t got = 0;
    if (!memory.empty())
        move_bytes(self, memory.data(), memory.size(), [&](dfs_t* fs, dfs_obj_t* of, d_sg_list_t* pieces) {
            return dfs_read(fs, of, pieces, offset, &got, nullptr);
        });
    return std::min<std::size_t>(got, memory.size());
}

} // namespace

FileHandle open_file(FileSystemHandle& self, const nb::bytes& path, int flags, unsigned mode)
{
    OpenFile file{*self.hold(), nullptr};
    run(self, key_of(path),
        [&, at = key_of(path)](dfs_t* fs) { return open_at(fs, at, flags, mode & 07777U, file.opened); });
    return FileHandle(std::move(file));
}

void bind_file(nb::module_& module)
{
    nb::class_<FileHandle>(module, "File")
        .def(
            "read",
            [](FileHandle& self, std::uint64_t offset, std::size_t size) {
                NewBytes made(size);
                const std::size_t got = read_into(self, offset, made.memory());
                return made.first(got);
            },
            nb::arg("offset"), nb::arg("size"))
        .def(
            "readinto",
            [](FileHandle& self, std::uint64_t offset, nb::handle into) {
                const Buffer memory(into, true);
                return read_into(self, offset, memory.writable());
            },
            nb::arg("offset"), nb::arg("into"))
        .def(
            "write",
            [](FileHandle& self, std::uint64_t offset, nb::handle data) {
                const Buffer memory(data, false);
                const Bytes bytes = memory.bytes();
                if (!bytes.empty())
                    move_bytes(self, bytes.data(), bytes.size(),
                               [&](dfs_t* fs, dfs_obj_t* of, d_sg_list_t* pieces) {
                                   return dfs_write(fs, of, pieces, offset, nullptr);
                               });
            },
            nb::arg("offset"), nb::arg("data"))
        .def("size",
             [](FileHandle& self) {
                 daos_size_t size = 0;
                 require_done(self.use([&](const OpenFile& file) {
                     return outcome_of(dfs_get_size(file.opened->fs(), file.opened->get(), &size));
                 }),
                              "");
                 return size;
             })
        .def(
            "truncate",
            [](FileHandle& self, std::uint64_t size) {
                require_done(self.use([&](const OpenFile& file) {
                    return outcome_of(dfs_punch(file.opened->fs(), file.opened->get(), size, DFS_MAX_FSIZE));
                }),
                             "");
            },
            nb::arg("size"))
        .def("close", &FileHandle::close)
        .def_prop_ro("closed", &FileHandle::closed);
}

} // namespace stepstore::python

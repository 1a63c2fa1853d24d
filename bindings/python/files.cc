// Files and directories of file systems in containers for Python, by absolute paths in bytes.
#include "files.h"

#include "location/find/location.h"

#include <array>
#include <cstring>
#include <filesystem>

namespace stepstore::python {

[[noreturn]] void raise_os_error(const Outcome& outcome, std::string_view path)
{
    const nb::object name =
        nb::steal(PyUnicode_DecodeUTF8(path.data(), static_cast<Py_ssize_t>(path.size()), "surrogateescape"));
    if (!name.is_valid()) throw nb::python_error();
    const nb::object text = to_text(outcome.text);
    const nb::object made = nb::steal(stays_when_ended(
        [&] { return PyObject_CallFunction(PyExc_OSError, "iOO", outcome.number, text.ptr(), name.ptr()); }));
    if (made.is_valid()) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
    throw nb::python_error();
}

namespace {

// A pool by a name that stays its own if the working directory changes: connections are shared by it.
std::string lasting_path(const std::string& pool)
{
    const std::string path = pool_path(pool);
    return capabilities_of(pool).directory ? std::filesystem::absolute(path).string() : path;
}

// ---- entries

nb::tuple status(FileSystemHandle& self, const nb::bytes& path, bool follow)
{
    struct stat found {};
    run(self, key_of(path), [&, at = key_of(path)](dfs_t* fs) {
        const Opened opened(fs, at, O_RDONLY | nofollow(follow), &found);
        return outcome_of(opened.failed());
    });
    return to_tuple(found);
}

void set_status(FileSystemHandle& self, const nb::bytes& path, std::optional<unsigned> mode,
                std::optional<std::int64_t> modified, std::optional<std::pair<unsigned, unsigned>> owner,
                bool follow)
{
    run(self, key_of(path), [&, at = key_of(path)](dfs_t* fs) {
        const Opened opened(fs, at, O_RDWR | nofollow(follow));
        if (opened.failed() != 0) return outcome_of(opened.failed());
        struct stat wanted {};
        int flags = 0;
        if (mode) {
            wanted.st_mode = (opened.mode() & static_cast<mode_t>(S_IFMT)) | (*mode & 07777U);
            flags |= DFS_SET_ATTR_MODE;
        }
        if (modified) {
            constexpr std::int64_t second = 1'000'000'000;
            const std::int64_t rest = (*modified % second + second) % second;
            wanted.st_mtim = {(*modified - rest) / second, rest};
            flags |= DFS_SET_ATTR_MTIME;
        }
        if (owner) {
            wanted.st_uid = owner->first;
            wanted.st_gid = owner->second;
            flags |= DFS_SET_ATTR_UID | DFS_SET_ATTR_GID;
        }
        return outcome_of(dfs_osetattr(fs, opened.get(), &wanted, flags));
    });
}

void make_directory(FileSystemHandle& self, const nb::bytes& path, unsigned mode)
{
    run(self, key_of(path), [&, at = key_of(path)](dfs_t* fs) {
        return in_parent(fs, at, [&](dfs_obj_t* above, const char* name) {
            return outcome_of(dfs_mkdir(fs, above, name, mode & 07777U, 0));
        });
    });
}

void remove_entry(FileSystemHandle& self, const nb::bytes& path, bool recursive)
{
    run(self, key_of(path), [&, at = key_of(path)](dfs_t* fs) {
        return in_parent(fs, at, [&](dfs_obj_t* above, const char* name) {
            return outcome_of(dfs_remove(fs, above, name, recursive, nullptr));
        });
    });
}

void rename_entry(FileSystemHandle& self, const nb::bytes& path, const nb::bytes& target)
{
    run(self, key_of(path), [&, at = key_of(path), to = key_of(target)](dfs_t* fs) {
        return in_parent(fs, at, [&](dfs_obj_t* above, const char* name) {
            return in_parent(fs, to, [&](dfs_obj_t* new_above, const char* new_name) {
                return outcome_of(dfs_move(fs, above, name, new_above, new_name, nullptr));
            });
        });
    });
}

void make_link(FileSystemHandle& self, const nb::bytes& target, const nb::bytes& path)
{
    run(self, key_of(path), [&, at = key_of(path), to = key_of(target)](dfs_t* fs) {
        return in_parent(fs, at, [&](dfs_obj_t* above, const char* name) {
            Opened made(fs);
            return outcome_of(dfs_open(fs, above, name, S_IFLNK | 0777, O_RDWR | O_CREAT | O_EXCL, 0, 0,
                                       to.c_str(), made.place()));
        });
    });
}

nb::bytes read_link(FileSystemHandle& self, const nb::bytes& path)
{
    std::array<char, DFS_MAX_PATH + 1> target{};
    daos_size_t size = target.size();
    run(self, key_of(path), [&, at = key_of(path)](dfs_t* fs) {
        const Opened opened(fs, at, O_RDONLY | O_NOFOLLOW);
        if (opened.failed() != 0) return outcome_of(opened.failed());
        if (!S_ISLNK(opened.mode())) return Outcome{EINVAL, "this is no symbolic link"};
        return outcome_of(dfs_get_symlink_value(opened.get(), target.data(), &size));
    });
    return nb::bytes(target.data(), strnlen(target.data(), target.size()));
}

// ---- extended attributes

nb::list attribute_names(FileSystemHandle& self, const nb::bytes& path, bool follow)
{
    std::vector<char> names;
    run(self, key_of(path), [&, at = key_of(path)](dfs_t* fs) {
        const Opened opened(fs, at, O_RDONLY | nofollow(follow));
        if (opened.failed() != 0) return outcome_of(opened.failed());
        daos_size_t needed = 0;
        Outcome outcome = outcome_of(dfs_listxattr(fs, opened.get(), nullptr, &needed));
        while (outcome.number == 0 && needed > names.size()) { // others may set more meanwhile
            names.resize(needed);
            outcome = outcome_of(dfs_listxattr(fs, opened.get(), names.data(), &needed));
        }
        names.resize(std::min(names.size(), static_cast<std::size_t>(needed)));
        return outcome;
    });
    nb::list told;
    for (std::size_t at = 0; at < names.size();) {
        const std::size_t length = strnlen(names.data() + at, names.size() - at);
        told.append(nb::bytes(names.data() + at, length));
        at += length + 1;
    }
    return told;
}

nb::bytes attribute(FileSystemHandle& self, const nb::bytes& path, const nb::bytes& name, bool follow)
{
    std::vector<char> value(DFS_MAX_XATTR_LEN);
    daos_size_t size = value.size();
    run(self, key_of(path), [&, at = key_of(path), which = key_of(name)](dfs_t* fs) {
        const Opened opened(fs, at, O_RDONLY | nofollow(follow));
        if (opened.failed() != 0) return outcome_of(opened.failed());
        return outcome_of(dfs_getxattr(fs, opened.get(), which.c_str(), value.data(), &size));
    });
    return nb::bytes(value.data(), std::min(value.size(), static_cast<std::size_t>(size)));
}

void set_attribute(FileSystemHandle& self, const nb::bytes& path, const nb::bytes& name,
                   const nb::bytes& value, bool follow)
{
    run(self, key_of(path), [&, at = key_of(path), which = key_of(name), what = key_of(value)](dfs_t* fs) {
        const Opened opened(fs, at, O_RDWR | nofollow(follow));
        if (opened.failed() != 0) return outcome_of(opened.failed());
        return outcome_of(dfs_setxattr(fs, opened.get(), which.c_str(), what.data(), what.size(), 0));
    });
}

void remove_attribute(FileSystemHandle& self, const nb::bytes& path, const nb::bytes& name, bool follow)
{
    run(self, key_of(path), [&, at = key_of(path), which = key_of(name)](dfs_t* fs) {
        const Opened opened(fs, at, O_RDWR | nofollow(follow));
        if (opened.failed() != 0) return outcome_of(opened.failed());
        return outcome_of(dfs_removexattr(fs, opened.get(), which.c_str()));
    });
}

} // namespace

void bind_files(nb::module_& module)
{
    bind_file(module);
    nb::class_<FileSystemHandle>(module, "FileSystem")
        .def("entries", &list_directory, nb::arg("path"))
        .def("stat", &status, nb::arg("path"), nb::arg("follow") = true)
        .def("set_status", &set_status, nb::arg("path"), nb::arg("mode") = nb::none(),
             nb::arg("modified") = nb::none(), nb::arg("owner") = nb::none(), nb::arg("follow") = true)
        .def("mkdir", &make_directory, nb::arg("path"), nb::arg("mode") = 0777)
        .def("remove", &remove_entry, nb::arg("path"), nb::arg("recursive") = false)
        .def("rename", &rename_entry, nb::arg("path"), nb::arg("target"))
        .def("symlink", &make_link, nb::arg("target"), nb::arg("path"))
        .def("readlink", &read_link, nb::arg("path"))
        .def("attributes", &attribute_names, nb::arg("path"), nb::arg("follow") = true)
        .def("attribute", &attribute, nb::arg("path"), nb::arg("name"), nb::arg("follow") = true)
        .def("set_attribute", &set_attribute, nb::arg("path"), nb::arg("name"), nb::arg("value"),
             nb::arg("follow") = true)
        .def("remove_attribute", &remove_attribute, nb::arg("path"), nb::arg("name"),
             nb::arg("follow") = true)
        .def("open", &open_file, nb::arg("path"), nb::arg("flags") = O_RDONLY, nb::arg("mode") = 0666)
        .def("close", &FileSystemHandle::close)
        .def_prop_ro("closed", &FileSystemHandle::closed);
    // None: the container has no file system.
    module.def(
        "mount",
        [](const std::string& pool, const std::string& container, bool read_only,
           std::uint64_t epoch) -> std::optional<FileSystemHandle> {
            Shared made = unlocked(
                [&] { return std::make_shared<Mounted>(lasting_path(pool), container, read_only, epoch); });
            const Outcome failed = made->failed();
            if (failed.number == 0) return FileSystemHandle(std::move(made));
            unlocked([&] { made.reset(); });
            if (failed.number == EINVAL || failed.number == ENOENT || failed.number == ENOTSUP)
                return std::nullopt;
            raise_os_error(failed, pool + "/" + container);
        },
        nb::arg("pool"), nb::arg("container"), nb::arg("read_only") = true, nb::arg("epoch") = 0);
}

} // namespace stepstore::python

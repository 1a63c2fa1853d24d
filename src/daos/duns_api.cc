// duns_: the unified namespace, on the calls of the C API and extended attributes of files.
//
// Making a path: 1. the path is made; of two makers one succeeds. 2. The container is made. 3. The path gets
// its attribute, and from then on it stands for the container. If 2 or 3 fails, all is taken back. A process
// that dies in between leaves an empty path without an attribute, and perhaps a container without a label.
//
// Destroying it: 1. the path is removed, which fails while a directory has entries. 2. The container is
// destroyed. A death in between leaves the container, which its pool still lists.
#include "daos/api.h"

#include <daos_uns.h>

#include "base/module.h"
#include "base/text.h"
#include "daos/acl.h"
#include "daos/duns_name.h"
#include "daos/failure.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <new>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace stepstore::daos;
using stepstore::uuid_text;

extern "C" void stepstore_duns_destroy_attr(struct duns_attr_t* attrp);

namespace {

// Thrown: an errno, and what went wrong.
struct UnsFailure {
    int error;
    std::string message;
};

[[noreturn]] void fail_uns(int error, const std::string& message)
{
    throw UnsFailure{error, message};
}

[[noreturn]] void fail_path(const char* path, const char* what)
{
    const int error = errno;
    fail_uns(error, std::string(path) + ": " + what + " (" + std::strerror(error) + ")");
}

int errno_of(int code)
{
    switch (-code) {
    case DER_NO_PERM:
    case DER_EP_RO: return EPERM;
    case DER_INVAL:
    case DER_NO_HDL: return EINVAL;
    case DER_EXIST: return EEXIST;
    case DER_NONEXIST: return ENOENT;
    case DER_NOSPACE: return ENOSPC;
    case DER_NOMEM: return ENOMEM;
    case DER_BUSY: return EBUSY;
    case DER_NOTSUPPORTED:
    case DER_NOSYS: return ENOTSUP;
    case DER_UNINIT: return EINVAL;
    default: return EIO;
    }
}

// A call of the C API, whose message stays.
void require_done(int result)
{
    if (result != 0) throw UnsFailure{errno_of(result), {}};
}

template <class Body>
int uns_call(const char* name, Body body) noexcept
{
    try {
        body();
        return 0;
    } catch (const UnsFailure& failure) {
        try {
            if (!failure.message.empty()) set_last_message(std::string(name) + ": " + failure.message);
        } catch (const std::bad_alloc&) { // no message then
        }
        return failure.error;
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    } catch (...) {
        return EIO;
    }
}

void require_given(const void* pointer, const char* what)
{
    if (!pointer) fail_uns(EINVAL, std::string(what) + " is NULL");
}

void put_name(char (&to)[DAOS_PROP_LABEL_MAX_LEN + 1], const std::string& name)
{
    to[name.copy(to, sizeof to - 1)] = '\0';
}

void put_uuid(uuid_t& to, const std::string& name)
{
    if (const auto uuid = stepstore::parse_uuid(name)) std::memcpy(to, uuid->data(), sizeof to);
}

void tell(const std::string& pool, const std::string& container, const std::string& rest, duns_attr_t& attr)
{
    char* copy = rest.empty() ? nullptr : strdup(rest.c_str());
    if (!copy && !rest.empty()) throw std::bad_alloc();
    put_name(attr.da_pool, pool);
    put_name(attr.da_cont, container);
    put_uuid(attr.da_puuid, pool);
    put_uuid(attr.da_cuuid, container);
    attr.da_rel_path = copy;
}

bool without_prefix(const duns_attr_t& attr)
{
    return attr.da_no_prefix || (attr.da_flags & DUNS_NO_PREFIX) != 0;
}

// Of a path that names pool and container itself.
std::optional<UnsName> named(const char* path, const duns_attr_t& attr)
{
    auto name = without_prefix(attr) ? std::optional<UnsName>() : parse_uns_name(path);
    if (name || !without_prefix(attr)) return name;
    return parse_bare_uns_name(path, (attr.da_flags & DUNS_NO_CHECK_PATH) != 0);
}

// nullopt: this file or directory has no such attribute.
std::optional<UnsAttribute> attribute_of(const std::string& path)
{
    char text[DUNS_MAX_XATTR_LEN];
    const ssize_t size = lgetxattr(path.c_str(), DUNS_XATTR_NAME, text, sizeof text);
    if (size < 0 && errno == ENODATA) return std::nullopt;
    if (size < 0 && errno != ERANGE) fail_path(path.c_str(), "its extended attribute cannot be read");
    auto attribute = size < 0 ? std::nullopt : parse_uns_attribute({text, static_cast<std::size_t>(size)});
    if (!attribute)
        fail_uns(EINVAL, path + ": its attribute " DUNS_XATTR_NAME " names no container: it has the form "
                                "DAOS.LAYOUT://UUID/UUID");
    return attribute;
}

std::string real_path(const char* path)
{
    const std::unique_ptr<char, FreeMemory> real(realpath(path, nullptr));
    if (!real) fail_path(path, "it cannot be found");
    return real.get();
}

void resolve(const char* path, duns_attr_t& attr)
{
    if (const auto name = named(path, attr)) return tell(name->pool, name->container, name->rest, attr);
    if ((attr.da_flags & DUNS_NO_CHECK_PATH) != 0)
        fail_uns(EINVAL, std::string(path) + " does not name a pool and a container: give "
                                             "daos://POOL/CONTAINER, or with DUNS_NO_PREFIX /POOL/CONTAINER");
    const std::string real = real_path(path);
    for (std::size_t end = real.size();;) {
        const std::string at = end == 0 ? "/" : real.substr(0, end);
        if (const auto attribute = attribute_of(at)) {
            tell(attribute->pool, attribute->container, real.substr(std::min(end, real.size())), attr);
            attr.da_type = attribute->layout;
            return;
        }
        if (end == 0 || real == "/" || (attr.da_flags & DUNS_NO_REVERSE_LOOKUP) != 0)
            fail_uns(ENODATA, std::string(path) + " stands for no container");
        end = real.rfind('/', end - 1);
    }
}

std::string pool_uuid(daos_handle_t poh)
{
    daos_pool_info_t info = {};
    require_done(daos_pool_query(poh, nullptr, &info, nullptr, nullptr));
    return uuid_text(info.pi_uuid);
}

// Whether this is the pool's UUID or label.
bool is_pool(daos_handle_t poh, const char* name)
{
    if (pool_uuid(poh) == name) return true;
    daos_prop_entry label = {};
    label.dpe_type = DAOS_PROP_PO_LABEL;
    daos_prop_t list = {};
    list.dpp_nr = 1;
    list.dpp_entries = &label;
    require_done(daos_pool_query(poh, nullptr, nullptr, &list, nullptr));
    const bool told = daos_prop_is_set(&label);
    const std::unique_ptr<char, FreeMemory> text(told ? label.dpe_str : nullptr);
    return text && std::strcmp(text.get(), name) == 0;
}

// dfs_cont_create() of libdfs, with which programs of POSIX containers are linked.
struct FileSystemAttributes { // dfs_attr_t
    std::uint64_t id;
    daos_size_t chunk_size;
    daos_oclass_id_t object_class;
    daos_prop_t* properties;
    std::uint32_t mode;
    daos_oclass_id_t directory_class, file_class;
    char hints[DAOS_CONT_HINT_MAX_LEN];
};
using MakeFileSystem = int (*)(daos_handle_t, uuid_t*, FileSystemAttributes*, daos_handle_t*, void**);
using MakeNamed = int (*)(daos_handle_t, const char*, FileSystemAttributes*, uuid_t*, daos_handle_t*, void**);

// The program's libdfs, or else the one beside this library. So a program needs no -ldfs, as with DAOS's own
// libduns.
void* of_libdfs(const char* name)
{
    if (void* function = dlsym(RTLD_DEFAULT, name)) return function;
    static const char here = 0;
    std::string tried;
    if (void* function = stepstore::find_in_module(&here, "libstepstore_dfs.so", name, tried))
        return function;
    fail_uns(ENOTSUP, std::string("a POSIX container is made by libdfs, and this program has no ") + name +
                          "(): link it with -ldfs. Looked for libstepstore_dfs.so:" + tried);
}

void make_posix_container(daos_handle_t poh, const char* label, duns_attr_t& attr)
{
    FileSystemAttributes wanted{.id = 0,
                                .chunk_size = attr.da_chunk_size,
                                .object_class = attr.da_oclass_id,
                                .properties = attr.da_props,
                                .mode = 0,
                                .directory_class = attr.da_dir_oclass_id,
                                .file_class = attr.da_file_oclass_id,
                                .hints = {}};
    std::memcpy(wanted.hints, attr.da_hints, sizeof wanted.hints - 1);
    const int failed = label ? reinterpret_cast<MakeNamed>(of_libdfs("dfs_cont_create_with_label"))(
                                   poh, label, &wanted, &attr.da_cuuid, nullptr, nullptr)
                             : reinterpret_cast<MakeFileSystem>(of_libdfs("dfs_cont_create"))(
                                   poh, &attr.da_cuuid, &wanted, nullptr, nullptr);
    if (failed != 0) throw UnsFailure{failed, {}};
}

// label: of the container; NULL: none.
void make_container(daos_handle_t poh, const char* label, duns_attr_t& attr)
{
    if (attr.da_type == DAOS_PROP_CO_LAYOUT_POSIX) return make_posix_container(poh, label, attr);
    std::vector<daos_prop_entry> entries;
    if (attr.da_props && attr.da_props->dpp_entries)
        entries.assign(attr.da_props->dpp_entries, attr.da_props->dpp_entries + attr.da_props->dpp_nr);
    daos_prop_entry layout = {};
    layout.dpe_type = DAOS_PROP_CO_LAYOUT_TYPE;
    layout.dpe_val = attr.da_type;
    entries.push_back(layout);
    daos_prop_t list = {};
    list.dpp_nr = static_cast<std::uint32_t>(entries.size());
    list.dpp_entries = entries.data();
    require_done(label ? daos_cont_create_with_label(poh, label, &list, &attr.da_cuuid, nullptr)
                       : daos_cont_create(poh, &attr.da_cuuid, &list, nullptr));
}

// An empty path, which is removed unless it is kept.
class NewPath {
public:
    NewPath(const char* path, daos_cont_layout_t layout) : path_(path)
    {
        if (layout == DAOS_PROP_CO_LAYOUT_UNKNOWN || layout >= DAOS_PROP_CO_LAYOUT_MAX)
            fail_uns(EINVAL, std::string(path) + ": a path needs a container with a layout, such as "
                                                 "DAOS_PROP_CO_LAYOUT_HDF5");
        is_directory_ = layout == DAOS_PROP_CO_LAYOUT_POSIX;
        const int made =
            is_directory_ ? mkdir(path, 0775) : open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0664);
        if (made < 0) fail_path(path, is_directory_ ? "cannot make the directory" : "cannot make the file");
        if (!is_directory_) close(made);
    }
    ~NewPath()
    {
        if (!kept_) static_cast<void>(is_directory_ ? rmdir(path_) : unlink(path_));
    }
    NewPath(const NewPath&) = delete;
    NewPath& operator=(const NewPath&) = delete;

    void keep_as(const UnsAttribute& attribute)
    {
        const std::string text = uns_attribute_text(attribute);
        if (lsetxattr(path_, DUNS_XATTR_NAME, text.c_str(), text.size() + 1, XATTR_CREATE) != 0)
            fail_path(path_, "cannot set its extended attribute " DUNS_XATTR_NAME);
        kept_ = true;
    }

private:
    const char* const path_;
    bool is_directory_ = false, kept_ = false;
};

void create(daos_handle_t poh, const char* path, duns_attr_t& attr)
{
    if (const auto name = named(path, attr)) {
        if (name->container.empty()) fail_uns(EINVAL, std::string(path) + " names no container");
        const bool labelled = !stepstore::parse_uuid(name->container);
        tell(name->pool, name->container, name->rest, attr);
        make_container(poh, labelled ? name->container.c_str() : nullptr, attr);
        if (!labelled) put_name(attr.da_cont, uuid_text(attr.da_cuuid));
        return;
    }
    const std::string pool = pool_uuid(poh);
    NewPath made(path, attr.da_type);
    make_container(poh, nullptr, attr);
    const std::string container = uuid_text(attr.da_cuuid);
    try {
        made.keep_as({attr.da_type, pool, container});
    } catch (const UnsFailure&) {
        daos_cont_destroy(poh, container.c_str(), 1, nullptr);
        throw;
    }
    put_name(attr.da_pool, pool);
    put_name(attr.da_cont, container);
}

// The layout and the UUID of a container that is there.
UnsAttribute described(daos_handle_t poh, const char* cont)
{
    daos_handle_t coh;
    daos_cont_info_t info = {};
    daos_prop_entry layout = {};
    layout.dpe_type = DAOS_PROP_CO_LAYOUT_TYPE;
    daos_prop_t list = {};
    list.dpp_nr = 1;
    list.dpp_entries = &layout;
    require_done(daos_cont_open(poh, cont, DAOS_COO_RO, &coh, &info, nullptr));
    const int failed = daos_cont_query(coh, nullptr, &list, nullptr);
    daos_cont_close(coh, nullptr);
    require_done(failed);
    return {static_cast<daos_cont_layout_t>(layout.dpe_val), pool_uuid(poh), uuid_text(info.ci_uuid)};
}

void destroy_path(daos_handle_t poh, const char* path)
{
    duns_attr_t attr = {};
    attr.da_flags = DUNS_NO_REVERSE_LOOKUP;
    resolve(path, attr);
    const bool has_rest = attr.da_rel_path;
    stepstore_duns_destroy_attr(&attr);
    if (has_rest || attr.da_cont[0] == '\0')
        fail_uns(EINVAL, std::string(path) + " names no container alone");
    if (!is_pool(poh, attr.da_pool))
        fail_uns(EINVAL, std::string(path) + " stands for a container of pool " + attr.da_pool +
                             ", which is not the one of the handle");
    if (attr.da_type != DAOS_PROP_CO_LAYOUT_UNKNOWN) {
        const std::string real = real_path(path);
        const int failed =
            attr.da_type == DAOS_PROP_CO_LAYOUT_POSIX ? rmdir(real.c_str()) : unlink(real.c_str());
        if (failed != 0) fail_path(path, "cannot remove it, so its container stays");
    }
    require_done(daos_cont_destroy(poh, attr.da_cont, 1, nullptr));
}

} // namespace

#pragma GCC visibility push(default)
extern "C" {

int stepstore_duns_resolve_path(const char* path, struct duns_attr_t* attr)
{
    return uns_call("duns_resolve_path", [&] {
        require_given(path, "the path");
        require_given(attr, "attr");
        attr->da_sys = nullptr;
        attr->da_rel_path = nullptr;
        if (*path == '\0') fail_uns(EINVAL, "the path is empty");
        resolve(path, *attr);
    });
}

int stepstore_duns_create_path(daos_handle_t poh, const char* path, struct duns_attr_t* attrp)
{
    return uns_call("duns_create_path", [&] {
        require_given(path, "the path");
        require_given(attrp, "attrp");
        create(poh, path, *attrp);
    });
}

int stepstore_duns_link_cont(daos_handle_t poh, const char* cont, const char* path)
{
    return uns_call("duns_link_cont", [&] {
        require_given(path, "the path");
        require_given(cont, "the container's name");
        const auto attribute = described(poh, cont);
        NewPath made(path, attribute.layout);
        made.keep_as(attribute);
    });
}

int stepstore_duns_destroy_path(daos_handle_t poh, const char* path)
{
    return uns_call("duns_destroy_path", [&] {
        require_given(path, "the path");
        destroy_path(poh, path);
    });
}

int stepstore_duns_parse_attr(char* str, daos_size_t len, struct duns_attr_t* attr)
{
    return uns_call("duns_parse_attr", [&] {
        require_given(str, "the text");
        require_given(attr, "attr");
        const auto attribute = parse_uns_attribute({str, static_cast<std::size_t>(len)});
        if (!attribute)
            fail_uns(EINVAL, "the text names no container: it has the form DAOS.LAYOUT://UUID/UUID");
        attr->da_type = attribute->layout;
        put_name(attr->da_pool, attribute->pool);
        put_name(attr->da_cont, attribute->container);
        put_uuid(attr->da_puuid, attribute->pool);
        put_uuid(attr->da_cuuid, attribute->container);
    });
}

int stepstore_duns_set_sys_name(struct duns_attr_t* attrp, const char* sys)
{
    return uns_call("duns_set_sys_name", [&] {
        require_given(attrp, "attrp");
        require_given(sys, "the system's name");
        char* copy = strndup(sys, DAOS_SYS_NAME_MAX);
        if (!copy) throw std::bad_alloc();
        std::free(std::exchange(attrp->da_sys, copy));
    });
}

void stepstore_duns_destroy_attr(struct duns_attr_t* attrp)
{
    if (!attrp) return;
    std::free(std::exchange(attrp->da_rel_path, nullptr));
    std::free(std::exchange(attrp->da_sys, nullptr));
}

} // extern "C"
#pragma GCC visibility pop

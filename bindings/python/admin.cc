// The administrator's calls for Python. What the library tells as JSON objects comes back as a list of texts,
// one object each.
#include "common.h"

#include "base/text.h"
#include "stepstore/admin.h"
#include "stepstore/client.h"

#include <exception>
#include <functional>
#include <mutex>

namespace stepstore::python {

void throw_on_failure(int code)
{
    if (code != 0) throw Error(code, stepstore_last_message());
}

namespace {

int collect(const char* json, void* into) noexcept
{
    try {
        static_cast<std::vector<std::string>*>(into)->emplace_back(json);
        return 0;
    } catch (...) {
        return -DER_NOMEM;
    }
}

// Hands each object to Python while the call runs, so that long walks can show how far they are.
struct Forward {
    nb::object each;
    std::exception_ptr error;
};

int forward(const char* json, void* arg) noexcept
{
    nb::gil_scoped_acquire locked;
    Forward* to = static_cast<Forward*>(arg);
    try {
        to->each(json);
        return 0;
    } catch (...) {
        to->error = std::current_exception();
        return -DER_CANCELED;
    }
}

using Walk = std::function<int(stepstore_json_cb, void*)>;

std::vector<std::string> collected(const Walk& walk)
{
    std::vector<std::string> found;
    throw_on_failure(unlocked([&] { return walk(collect, &found); }));
    return found;
}

// The C calls need an initialised library; it stays so until the process ends, as other parts of it may use
// it.
void initialise()
{
    static std::once_flag once;
    std::call_once(once, [] { throw_on_failure(daos_init()); });
}

// The C handles of a container opened to look at it.
class OpenContainer {
public:
    OpenContainer(const std::string& pool, const std::string& container)
    {
        const char* name = c_text(container, "container");
        initialise();
        throw_on_failure(
            daos_pool_connect(c_text(pool, "pool"), nullptr, DAOS_PC_RO, &pool_, nullptr, nullptr));
        const int code = daos_cont_open(pool_, name, DAOS_COO_RO, &container_, nullptr, nullptr);
        if (code != 0) {
            const std::string message = stepstore_last_message();
            daos_pool_disconnect(pool_, nullptr);
            throw Error(code, message);
        }
    }
    ~OpenContainer()
    {
        if (daos_handle_is_valid(snapshot_)) daos_tx_close(snapshot_, nullptr);
        daos_cont_close(container_, nullptr);
        daos_pool_disconnect(pool_, nullptr);
    }
    OpenContainer(const OpenContainer&) = delete;
    OpenContainer& operator=(const OpenContainer&) = delete;

    void at(std::uint64_t epoch)
    {
        throw_on_failure(daos_tx_open_snap(container_, epoch, &snapshot_, nullptr));
    }
    daos_handle_t container() const { return container_; }
    daos_handle_t snapshot() const { return snapshot_; }

private:
    daos_handle_t pool_ = DAOS_HDL_INVAL;
    daos_handle_t container_ = DAOS_HDL_INVAL;
    daos_handle_t snapshot_ = DAOS_TX_NONE;
};

std::vector<std::string> container_objects(const std::string& pool, const std::string& container,
                                           std::optional<std::uint64_t> epoch, bool sizes)
{
    return collected([&](stepstore_json_cb each, void* arg) {
        OpenContainer opened(pool, container);
        if (epoch) opened.at(*epoch);
        return stepstore_cont_objects(opened.container(), opened.snapshot(), sizes, each, arg);
    });
}

std::vector<std::string> container_object(const std::string& pool, const std::string& container,
                                          const ObjectId& id, std::optional<std::uint64_t> epoch)
{
    return collected([&](stepstore_json_cb each, void* arg) {
        OpenContainer opened(pool, container);
        if (epoch) opened.at(*epoch);
        return stepstore_cont_object(opened.container(), opened.snapshot(), {.lo = id.lo, .hi = id.hi}, each,
                                     arg);
    });
}

nb::dict container_query(const std::string& pool, const std::string& container)
{
    daos_cont_info_t info{};
    unlocked([&] {
        OpenContainer opened(pool, container);
        throw_on_failure(daos_cont_query(opened.container(), &info, nullptr, nullptr));
    });
    nb::dict result;
    result["uuid"] = uuid_text(info.ci_uuid);
    result["snapshots"] = info.ci_nsnapshots;
    result["latest_snapshot"] = info.ci_lsnapshot;
    return result;
}

void pool_check(const std::string& pool, bool data, bool repair, nb::object each)
{
    Forward to{std::move(each), nullptr};
    const char* name = c_text(pool, "pool");
    const int code = unlocked([&] { return stepstore_pool_check(name, data, repair, forward, &to); });
    if (to.error) std::rethrow_exception(std::exchange(to.error, nullptr));
    throw_on_failure(code);
}

std::string pool_path(const std::string& pool)
{
    std::string path(4096, '\0');
    std::size_t size = path.size();
    throw_on_failure(stepstore_pool_path(c_text(pool, "pool"), path.data(), &size));
    return path.c_str();
}

} // namespace

void bind_admin(nb::module_& module)
{
    module.def("pool_path", &pool_path, nb::arg("pool"));
    module.def(
        "pool_list",
        [](const std::optional<std::string>& root) {
            return collected([&](stepstore_json_cb each, void* arg) {
                return stepstore_pool_list(root ? c_text(*root, "directory") : nullptr, each, arg);
            });
        },
        nb::arg("root") = nb::none());
    module.def(
        "pool_describe",
        [](const std::string& pool) {
            return collected([&](stepstore_json_cb each, void* arg) {
                return stepstore_pool_describe(c_text(pool, "pool"), each, arg);
            });
        },
        nb::arg("pool"));
    module.def(
        "pool_compact",
        [](const std::string& pool) {
            return collected([&](stepstore_json_cb each, void* arg) {
                return stepstore_pool_compact(pool.c_str(), each, arg);
            });
        },
        nb::arg("pool"));
    module.def("pool_check", &pool_check, nb::arg("pool"), nb::arg("data"), nb::arg("repair"),
               nb::arg("each"));
    module.def("container_objects", &container_objects, nb::arg("pool"), nb::arg("container"),
               nb::arg("epoch") = nb::none(), nb::arg("sizes") = true);
    module.def("container_object", &container_object, nb::arg("pool"), nb::arg("container"), nb::arg("id"),
               nb::arg("epoch") = nb::none());
    module.def("container_query", &container_query, nb::arg("pool"), nb::arg("container"));
}

} // namespace stepstore::python

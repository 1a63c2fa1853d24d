// The user attributes of containers (daos_cont_set_attr) for Python.
#include "open_pool.h"

#include <cstring>
#include <map>

namespace stepstore::python {

namespace {

using Values = std::map<std::string, std::string>;

class OpenContainer : NotCopied {
public:
    OpenContainer(const OpenPool& pool, const std::string& label, unsigned flags)
    {
        require_done(daos_cont_open(pool.get(), label.c_str(), flags, &handle_, nullptr, nullptr));
    }
    ~OpenContainer() { daos_cont_close(handle_, nullptr); }
    daos_handle_t get() const { return handle_; }

private:
    daos_handle_t handle_{};
};

std::vector<std::string> names_of(daos_handle_t container)
{
    std::size_t size = 0;
    require_done(daos_cont_list_attr(container, nullptr, &size, nullptr));
    std::vector<char> text;
    while (size > text.size()) { // others may set more meanwhile
        text.resize(size);
        require_done(daos_cont_list_attr(container, text.data(), &size, nullptr));
    }
    std::vector<std::string> names;
    for (std::size_t at = 0; at < std::min(size, text.size());) {
        names.emplace_back(text.data() + at, strnlen(text.data() + at, text.size() - at));
        at += names.back().size() + 1;
    }
    return names;
}

// False: it is there no more.
bool read_value(daos_handle_t container, const std::string& name, std::string& value)
{
    const char* const names[] = {name.c_str()};
    for (std::size_t room = 0;;) {
        value.resize(room);
        void* const buffers[] = {room != 0 ? value.data() : nullptr};
        std::size_t sizes[] = {room};
        const int code = daos_cont_get_attr(container, 1, names, buffers, sizes, nullptr);
        if (code == -DER_NONEXIST) return false;
        require_done(code);
        if (sizes[0] <= room) {
            value.resize(sizes[0]);
            return true;
        }
        room = sizes[0];
    }
}

Values read_all(const std::string& pool, const std::string& label)
{
    const OpenPool open(pool, DAOS_PC_RO);
    const OpenContainer container(open, label, DAOS_COO_RO);
    Values found;
    for (const std::string& name : names_of(container.get()))
        if (std::string value; read_value(container.get(), name, value)) found[name] = std::move(value);
    return found;
}

void set_all(const std::string& pool, const std::string& label, const Values& values)
{
    const OpenPool open(pool, DAOS_PC_RW);
    const OpenContainer container(open, label, DAOS_COO_RW);
    for (const auto& [name, value] : values) {
        const char* const names[] = {name.c_str()};
        const void* const buffers[] = {value.data()};
        const std::size_t sizes[] = {value.size()};
        require_done(daos_cont_set_attr(container.get(), 1, names, buffers, sizes, nullptr));
    }
}

} // namespace

void bind_user_attributes(nb::module_& module)
{
    module.def(
        "user_attributes",
        [](const std::string& pool, const std::string& label) {
            const Values found = unlocked([&] { return read_all(pool, label); });
            nb::dict told;
            for (const auto& [name, value] : found)
                told[to_bytes(name)] = to_bytes(value);
            return told;
        },
        nb::arg("pool"), nb::arg("label"));
    module.def(
        "set_user_attributes",
        [](const std::string& pool, const std::string& label, const nb::dict& values) {
            Values all;
            for (const auto& [name, value] : values)
                all[key_of(nb::cast<nb::bytes>(name))] = key_of(nb::cast<nb::bytes>(value));
            unlocked([&] { set_all(pool, label, all); });
        },
        nb::arg("pool"), nb::arg("label"), nb::arg("values"));
}

} // namespace stepstore::python

// Pools, containers, key-value and array objects for Python, one to one with the C++ client.
#include "common.h"

#include "base/text.h"

#include <array>

namespace stepstore::python {

namespace {

using PoolHandle = Closable<Pool>;
using ContainerHandle = Closable<Container>;
using KeyValueHandle = Closable<KeyValue>;
using ArrayHandle = Closable<Array>;

Access access_of(bool read_only)
{
    return read_only ? Access::read_only : Access::read_write;
}

Durability durability_of(const std::string& name)
{
    if (name == "process") return Durability::process;
    if (name == "power") return Durability::power;
    throw Error(-DER_INVAL, "durability '" + name + "': use process or power");
}

ObjectType object_type_of(const std::string& name)
{
    if (name == "key_value") return ObjectType::key_value;
    if (name == "array") return ObjectType::array;
    if (name == "array_bytes") return ObjectType::array_bytes;
    throw Error(-DER_INVAL, "object type '" + name + "': use key_value, array or array_bytes");
}

Condition condition_of(const std::string& name)
{
    if (name == "none") return Condition::none;
    if (name == "must_not_exist") return Condition::must_not_exist;
    if (name == "must_exist") return Condition::must_exist;
    throw Error(-DER_INVAL, "condition '" + name + "': use none, must_not_exist or must_exist");
}

nb::bytes to_bytes(std::string_view text)
{
    return nb::bytes(text.data(), text.size());
}

// Bytes that are filled before Python sees them, so that a large value is not copied once more.
class NewBytes {
public:
    explicit NewBytes(std::size_t size)
        : object_(nb::steal<nb::object>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)))),
          size_(size)
    {
        if (!object_.is_valid()) throw nb::python_error();
    }
    MutableBytes memory() const
    {
        return {reinterpret_cast<std::byte*>(PyBytes_AS_STRING(object_.ptr())), size_};
    }
    nb::object first(std::size_t size)
    {
        if (size == size_) return std::move(object_);
        return nb::bytes(memory().data(), size);
    }

private:
    nb::object object_;
    std::size_t size_;
};

nb::object get_value(KeyValueHandle& self, const nb::bytes& key)
{
    const auto get_into = [&](MutableBytes into) {
        return self.use([&](auto& it) { return it.get_into(text_of(key), into); });
    };
    std::array<std::byte, 4096> small; // one call for usual values
    std::optional<std::size_t> size = get_into(small);
    if (size && *size <= small.size()) return nb::bytes(small.data(), *size);
    while (size) { // again when it was replaced by a larger one meanwhile
        NewBytes value(*size);
        size = get_into(value.memory());
        if (size && *size <= value.memory().size()) return value.first(*size);
    }
    return nb::none();
}

void bind_object_id(nb::module_& module)
{
    nb::class_<ObjectId>(module, "ObjectId", "The 128-bit id of an object: two numbers, written hi.lo.")
        .def(
            "__init__",
            [](ObjectId* self, std::uint64_t hi, std::uint64_t lo) { new (self) ObjectId{hi, lo}; },
            nb::arg("hi"), nb::arg("lo"))
        .def_ro("hi", &ObjectId::hi)
        .def_ro("lo", &ObjectId::lo)
        .def("__str__", [](const ObjectId& id) { return object_id_text(id.hi, id.lo); })
        .def("__repr__",
             [](const ObjectId& id) {
                 return "ObjectId(" + std::to_string(id.hi) + ", " + std::to_string(id.lo) + ")";
             })
        .def("__eq__", [](const ObjectId& a, const ObjectId& b) { return a == b; })
        .def("__hash__", [](const ObjectId& id) {
            return std::hash<std::uint64_t>()(id.hi * 0x9e3779b97f4a7c15u + id.lo);
        });
}

void bind_pool(nb::module_& module)
{
    nb::class_<PoolHandle>(module, "Pool")
        .def_static(
            "connect",
            [](const std::string& location, bool read_only) {
                return unlocked([&] { return PoolHandle(Pool::connect(location, access_of(read_only))); });
            },
            nb::arg("location"), nb::arg("read_only") = false)
        .def_static(
            "create",
            [](const std::string& location, const std::string& label, unsigned targets,
               const std::string& durability, const std::vector<std::string>& target_dirs) {
                const PoolOptions options{label, targets, durability_of(durability), target_dirs};
                unlocked([&] { Pool::create(location, options); });
            },
            nb::arg("location"), nb::arg("label") = "", nb::arg("targets") = 0,
            nb::arg("durability") = "process", nb::arg("target_dirs") = std::vector<std::string>())
        .def_static(
            "destroy",
            [](const std::string& location, bool force) {
                unlocked([&] { Pool::destroy(location, force); });
            },
            nb::arg("location"), nb::arg("force") = false)
        .def_prop_ro("location", [](PoolHandle& self) { return self.get().location(); })
        .def(
            "create_container",
            [](PoolHandle& self, const std::string& label) {
                return self.use([&](auto& it) { return ContainerHandle(it.create_container(label)); });
            },
            nb::arg("label"))
        .def(
            "open_container",
            [](PoolHandle& self, const std::string& label, bool read_only) {
                return self.use([&](auto& it) {
                    return ContainerHandle(it.open_container(label, access_of(read_only)));
                });
            },
            nb::arg("label"), nb::arg("read_only") = false)
        .def(
            "open_or_create_container",
            [](PoolHandle& self, const std::string& label) {
                return self.use(
                    [&](auto& it) { return ContainerHandle(it.open_or_create_container(label)); });
            },
            nb::arg("label"))
        .def(
            "destroy_container",
            [](PoolHandle& self, const std::string& label, bool force) {
                self.use([&](auto& it) { it.destroy_container(label, force); });
            },
            nb::arg("label"), nb::arg("force") = false)
        .def("containers",
             [](PoolHandle& self) {
                 std::vector<std::pair<std::string, std::string>> found;
                 self.use([&](auto& it) {
                     for (ContainerEntry& entry : it.containers())
                         found.emplace_back(std::move(entry.uuid), std::move(entry.label));
                 });
                 return found;
             })
        .def("sync", [](PoolHandle& self) { self.use([&](auto& it) { it.sync(); }); })
        .def("close", &PoolHandle::close)
        .def_prop_ro("closed", &PoolHandle::closed);
}

void bind_container_objects(nb::class_<ContainerHandle>& container)
{
    container
        .def(
            "object_id",
            [](ContainerHandle& self, std::uint64_t lo, std::uint32_t hi, const std::string& type,
               const std::string& object_class) {
                return self.get().object_id(lo, hi, object_type_of(type), object_class);
            },
            nb::arg("lo"), nb::arg("hi") = 0, nb::arg("type") = "key_value", nb::arg("object_class") = "")
        .def(
            "allocate_oids",
            [](ContainerHandle& self, std::uint64_t count) {
                return self.use([&](auto& it) { return it.allocate_oids(count); });
            },
            nb::arg("count"))
        .def(
            "key_value",
            [](ContainerHandle& self, const ObjectId& id, bool read_only) {
                return self.use(
                    [&](auto& it) { return KeyValueHandle(it.key_value(id, access_of(read_only))); });
            },
            nb::arg("id"), nb::arg("read_only") = false)
        .def(
            "create_array",
            [](ContainerHandle& self, const ObjectId& id, std::uint64_t cell_size, std::uint64_t chunk_size) {
                const ArrayAttributes attributes{cell_size, chunk_size};
                return self.use([&](auto& it) { return ArrayHandle(it.create_array(id, attributes)); });
            },
            nb::arg("id"), nb::arg("cell_size") = 1, nb::arg("chunk_size") = 1 << 20)
        .def(
            "open_array",
            [](ContainerHandle& self, const ObjectId& id, bool read_only) -> std::optional<ArrayHandle> {
                return self.use([&](auto& it) -> std::optional<ArrayHandle> {
                    std::optional<Array> array = it.open_array(id, access_of(read_only));
                    if (!array) return std::nullopt;
                    return ArrayHandle(std::move(*array));
                });
            },
            nb::arg("id"), nb::arg("read_only") = false)
        .def(
            "open_array_with",
            [](ContainerHandle& self, const ObjectId& id, std::uint64_t cell_size, std::uint64_t chunk_size,
               bool read_only) {
                const ArrayAttributes attributes{cell_size, chunk_size};
                return self.use([&](auto& it) {
                    return ArrayHandle(it.open_array(id, attributes, access_of(read_only)));
                });
            },
            nb::arg("id"), nb::arg("cell_size"), nb::arg("chunk_size"), nb::arg("read_only") = false);
}

void bind_container(nb::module_& module)
{
    nb::class_<ContainerHandle> container(module, "Container");
    container.def_prop_ro("label", [](ContainerHandle& self) { return self.get().label(); })
        .def(
            "create_snapshot",
            [](ContainerHandle& self, const std::string& name) {
                return self.use([&](auto& it) { return it.create_snapshot(name); });
            },
            nb::arg("name") = "")
        .def("snapshots",
             [](ContainerHandle& self) {
                 std::vector<std::pair<std::uint64_t, std::string>> found;
                 self.use([&](auto& it) {
                     for (SnapshotEntry& entry : it.snapshots())
                         found.emplace_back(entry.epoch, std::move(entry.name));
                 });
                 return found;
             })
        .def(
            "destroy_snapshot",
            [](ContainerHandle& self, std::uint64_t epoch) {
                self.use([&](auto& it) { it.destroy_snapshot(epoch); });
            },
            nb::arg("epoch"))
        .def(
            "at_snapshot",
            [](ContainerHandle& self, std::uint64_t epoch) {
                return self.use([&](auto& it) { return ContainerHandle(it.at_snapshot(epoch)); });
            },
            nb::arg("epoch"))
        .def("close", &ContainerHandle::close)
        .def_prop_ro("closed", &ContainerHandle::closed);
    bind_container_objects(container);
}

void bind_key_value(nb::module_& module)
{
    nb::class_<KeyValueHandle>(module, "KeyValue")
        .def_prop_ro("id", [](KeyValueHandle& self) { return self.get().id(); })
        .def(
            "put",
            [](KeyValueHandle& self, const nb::bytes& key, nb::handle value, const std::string& condition) {
                const Buffer memory(value, false);
                const Condition wanted = condition_of(condition);
                self.use([&](auto& it) { it.put(text_of(key), memory.bytes(), wanted); });
            },
            nb::arg("key"), nb::arg("value"), nb::arg("condition") = "none")
        .def("get", &get_value, nb::arg("key"))
        .def(
            "read_into",
            [](KeyValueHandle& self, const nb::bytes& key, nb::handle into) {
                const Buffer memory(into, true);
                return self.use([&](auto& it) { return it.get_into(text_of(key), memory.writable()); });
            },
            nb::arg("key"), nb::arg("into"))
        .def(
            "size",
            [](KeyValueHandle& self, const nb::bytes& key) {
                return self.use([&](auto& it) { return it.get_into(text_of(key), {}); });
            },
            nb::arg("key"))
        .def(
            "remove",
            [](KeyValueHandle& self, const nb::bytes& key, const std::string& condition) {
                const Condition wanted = condition_of(condition);
                self.use([&](auto& it) { it.remove(text_of(key), wanted); });
            },
            nb::arg("key"), nb::arg("condition") = "none")
        .def("keys",
             [](KeyValueHandle& self) {
                 const std::vector<std::string> keys = self.use([&](auto& it) { return it.list(); });
                 std::vector<nb::bytes> found;
                 found.reserve(keys.size());
                 for (const std::string& key : keys)
                     found.push_back(to_bytes(key));
                 return found;
             })
        .def("destroy", [](KeyValueHandle& self) { self.use([&](auto& it) { it.destroy(); }); })
        .def("close", &KeyValueHandle::close)
        .def_prop_ro("closed", &KeyValueHandle::closed);
}

void bind_array(nb::module_& module)
{
    nb::class_<ArrayHandle>(module, "Array")
        .def_prop_ro("id", [](ArrayHandle& self) { return self.get().id(); })
        .def_prop_ro("cell_size", [](ArrayHandle& self) { return self.get().attributes().cell_size; })
        .def_prop_ro("chunk_size", [](ArrayHandle& self) { return self.get().attributes().chunk_size; })
        .def(
            "write",
            [](ArrayHandle& self, std::uint64_t index, nb::handle data) {
                const Buffer memory(data, false);
                self.use([&](auto& it) { it.write(index, memory.bytes()); });
            },
            nb::arg("index"), nb::arg("data"))
        .def(
            "read",
            [](ArrayHandle& self, std::uint64_t index, std::size_t bytes) {
                NewBytes cells(bytes);
                self.use([&](auto& it) { it.read(index, cells.memory()); });
                return cells.first(bytes);
            },
            nb::arg("index"), nb::arg("bytes"))
        .def(
            "read_into",
            [](ArrayHandle& self, std::uint64_t index, nb::handle into) {
                const Buffer memory(into, true);
                return self.use([&](auto& it) { return it.read(index, memory.writable()); }).cells_short;
            },
            nb::arg("index"), nb::arg("into"),
            "Fills the buffer. Returns how many of its cells lie beyond the end.")
        .def("size", [](ArrayHandle& self) { return self.use([&](auto& it) { return it.size(); }); })
        .def(
            "set_size",
            [](ArrayHandle& self, std::uint64_t cells) { self.use([&](auto& it) { it.set_size(cells); }); },
            nb::arg("cells"))
        .def(
            "punch",
            [](ArrayHandle& self, std::uint64_t index, std::uint64_t length) {
                const Range range{index, length};
                self.use([&](auto& it) { it.punch({&range, 1}); });
            },
            nb::arg("index"), nb::arg("length"))
        .def("destroy", [](ArrayHandle& self) { self.use([&](auto& it) { it.destroy(); }); })
        .def("close", &ArrayHandle::close)
        .def_prop_ro("closed", &ArrayHandle::closed);
}

} // namespace

void bind_store(nb::module_& module)
{
    bind_object_id(module);
    bind_pool(module);
    bind_container(module);
    bind_key_value(module);
    bind_array(module);
}

} // namespace stepstore::python

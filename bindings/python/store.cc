// Pools and containers for Python, one to one with the C++ client.
#include "common.h"

#include "base/text.h"

namespace stepstore::python {

namespace {

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
    if (name == "object") return ObjectType::akeys;
    throw Error(-DER_INVAL, "object type '" + name + "': use key_value, array, array_bytes or object");
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
            "destroy", [](const std::string& location) { unlocked([&] { Pool::destroy(location); }); },
            nb::arg("location"))
        .def_prop_ro("location", [](PoolHandle& self) { return self.get().location(); })
        .def(
            "create_container",
            [](PoolHandle& self, const std::string& label) {
                return self.use([&](auto& it) { return ContainerHandle(it.create_container(label)); });
            },
            nb::arg("label"))
        .def(
            "create_file_container",
            [](PoolHandle& self, const std::string& label, const ObjectId& superblock, const ObjectId& root) {
                return self.use([&](auto& it) {
                    return ContainerHandle(it.create_container(label, FileSystem{superblock, root}));
                });
            },
            nb::arg("label"), nb::arg("superblock"), nb::arg("root"))
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
            "file_system",
            [](ContainerHandle& self) -> nb::object {
                const auto found = self.use([&](auto& it) { return it.file_system(); });
                if (!found) return nb::none();
                return nb::make_tuple(found->superblock, found->root);
            },
            "The ids of its superblock and root, or None.")
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
            [](ContainerHandle& self, const std::string& name, bool objects) {
                return self.use([&](auto& it) { return it.create_snapshot(name, objects); });
            },
            nb::arg("name") = "", nb::arg("objects") = false)
        .def("objects",
             [](ContainerHandle& self) {
                 std::vector<ObjectId> found;
                 for (const ObjectInfo& one : self.use([](auto& it) { return list_objects(it, false); }))
                     found.push_back(one.id);
                 return found;
             })
        .def("uuid",
             [](ContainerHandle& self) {
                 return self.use([&](auto& it) { return describe_container(it).uuid; });
             })
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
    bind_akeys(module, container);
}

} // namespace

void bind_store(nb::module_& module)
{
    bind_object_id(module);
    bind_pool(module);
    bind_container(module);
    bind_objects(module);
    bind_completions(module);
}

} // namespace stepstore::python

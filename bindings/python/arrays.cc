// Arrays of parallel programs for Python, in one process. Dimensions are in row-major order, as numpy's.
#include "common.h"

#include "arrays/arrays.h"

#include <mutex>

namespace stepstore::python {

namespace {

using arrays::Store;

// A store is one thread's at a time: calls of several Python threads wait for each other here.
class ArraysHandle {
public:
    ArraysHandle(const std::string& location, bool writable, std::uint64_t snapshot)
    {
        arrays::OpenOptions options;
        options.snapshot = snapshot;
        const arrays::Mode mode = writable ? arrays::Mode::write : arrays::Mode::read;
        open_->store = std::make_unique<Store>(location, mode, self_communicator(), options);
    }
    ~ArraysHandle()
    {
        if (open_.mine()) unlocked_at_end([&] { open_ = {}; });
    }
    ArraysHandle(const ArraysHandle&) = delete;
    ArraysHandle& operator=(const ArraysHandle&) = delete;

    template <class Body>
    auto use(Body&& body)
    {
        return unlocked([&] {
            Open& open = *open_;
            const std::lock_guard lock(open.mutex);
            if (!open.store) throw Error(-DER_NO_HDL, "this location is closed: open it again");
            return body(*open.store);
        });
    }
    void close()
    {
        if (!open_.mine()) return; // the parent's
        unlocked([&] {
            Open& open = *open_;
            const std::lock_guard lock(open.mutex);
            if (const auto last = std::move(open.store)) last->close();
        });
    }
    bool closed()
    {
        return !open_.mine() || unlocked([&] {
            Open& open = *open_;
            const std::lock_guard lock(open.mutex);
            return open.store == nullptr;
        });
    }

private:
    struct Open {
        std::mutex mutex; // of OwnState::array_location: guards store
        std::unique_ptr<Store> store;
    };
    OfProcess<OwnState::array_location, Open> open_ = std::make_shared<Open>();
};

// (number of the kind, bytes of a text): the package knows what numpy calls it.
using TypeNumbers = std::pair<unsigned, std::uint32_t>;

TypeNumbers numbers_of(const arrays::ElementType& type)
{
    return {static_cast<unsigned>(type.kind), type.length};
}

arrays::ElementType type_of(const TypeNumbers& numbers)
{
    return {static_cast<arrays::Kind>(numbers.first), numbers.second};
}

std::string key_of(const nb::bytes& name)
{
    return std::string(text_of(name));
}

nb::dict info(ArraysHandle& self, const nb::bytes& name)
{
    const arrays::ArrayInfo found =
        self.use([&, key = key_of(name)](Store& store) { return store.inquire(key); });
    nb::dict result;
    result["type"] = numbers_of(found.type);
    result["type_name"] = arrays::to_text(found.type);
    result["column_major"] = found.order == arrays::Order::column_major;
    result["shape"] = found.shape;
    result["grows_along"] = found.grows_along;
    result["blocks"] = found.blocks;
    result["object_class"] = found.layout.object_class;
    result["chunk_size"] = found.layout.chunk_size;
    result["checksum"] = found.layout.checksum;
    result["version"] = found.version;
    result["generation"] = found.generation;
    return result;
}

nb::list blocks(ArraysHandle& self, const nb::bytes& name)
{
    const auto found = self.use([&, key = key_of(name)](Store& store) { return store.blocks(key); });
    nb::list result;
    for (const arrays::BlockInfo& block : found)
        result.append(nb::make_tuple(block.start, block.count));
    return result;
}

// -DER_INVAL before anything is read or written beyond the memory.
void require_room(const Buffer& buffer, const arrays::Numbers& count, const arrays::ElementType& type)
{
    std::uint64_t elements = 1;
    for (const std::int64_t extent : count)
        elements *= static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 0));
    if (buffer.bytes().size() / arrays::size_of(type) < elements)
        throw Error(-DER_INVAL,
                    "the memory has room for fewer than the " + std::to_string(elements) + " elements");
}

void read(ArraysHandle& self, const nb::bytes& name, const TypeNumbers& type, std::uint64_t generation,
          const arrays::Numbers& start, const arrays::Numbers& count, nb::handle into)
{
    const Buffer buffer(into, true);
    const arrays::ReadCall call{.name = key_of(name),
                                .type = type_of(type),
                                .dimensions = static_cast<unsigned>(count.size()),
                                .generation = generation,
                                .start = start,
                                .count = count,
                                .data = buffer.writable().data()};
    require_room(buffer, count, call.type);
    self.use([&](Store& store) { store.read(call); });
}

void write(ArraysHandle& self, const nb::bytes& name, const TypeNumbers& type, const arrays::Numbers& shape,
           nb::handle from, std::optional<int> append_along, const std::string& object_class,
           std::uint64_t chunk_size, bool checksum)
{
    const Buffer buffer(from, false);
    arrays::WriteCall call{.name = key_of(name),
                           .type = type_of(type),
                           .shape = shape,
                           .data = buffer.bytes().data(),
                           .append_along = append_along};
    if (!object_class.empty()) call.layout.object_class = object_class;
    if (chunk_size != 0) call.layout.chunk_size = chunk_size;
    call.layout.checksum = checksum;
    require_room(buffer, shape, call.type);
    self.use([&](Store& store) { store.write(call); });
}

nb::list texts(const std::vector<std::string>& names)
{
    nb::list result;
    for (const std::string& name : names)
        result.append(nb::bytes(name.data(), name.size()));
    return result;
}

nb::tuple attribute(ArraysHandle& self, const nb::bytes& name, const nb::bytes& attribute)
{
    const arrays::Attribute found = self.use([array = key_of(name), key = key_of(attribute)](Store& store) {
        return store.attribute(array, key);
    });
    return nb::make_tuple(numbers_of(found.type), found.count,
                          nb::bytes(found.values.data(), found.values.size()));
}

void set_attribute(ArraysHandle& self, const nb::bytes& name, const nb::bytes& attribute,
                   const TypeNumbers& type, std::uint64_t count, const nb::bytes& values)
{
    arrays::Attribute value{.type = type_of(type), .count = count, .values = {}};
    const auto* first = reinterpret_cast<const std::byte*>(values.c_str());
    value.values.assign(first, first + values.size());
    self.use([&, array = key_of(name), key = key_of(attribute)](Store& store) {
        store.set_attribute(array, key, value);
    });
}

} // namespace

void bind_arrays(nb::module_& module)
{
    nb::class_<ArraysHandle>(module, "Arrays")
        .def(
            "__init__",
            [](ArraysHandle* self, const std::string& location, bool writable, std::uint64_t snapshot) {
                unlocked([&] { new (self) ArraysHandle(location, writable, snapshot); });
            },
            nb::arg("location"), nb::arg("writable"), nb::arg("snapshot"))
        .def("close", &ArraysHandle::close)
        .def_prop_ro("closed", &ArraysHandle::closed)
        .def("where", [](ArraysHandle& self) { return self.use([](Store& store) { return store.where(); }); })
        .def("names",
             [](ArraysHandle& self) { return texts(self.use([](Store& store) { return store.list(); })); })
        .def("info", &info, nb::arg("name"))
        .def("blocks", &blocks, nb::arg("name"))
        .def("read", &read, nb::arg("name"), nb::arg("type"), nb::arg("generation"), nb::arg("start"),
             nb::arg("count"), nb::arg("into"), "generation: of info, else Error DER_STALE.")
        .def("write", &write, nb::arg("name"), nb::arg("type"), nb::arg("shape"), nb::arg("data"),
             nb::arg("append_along"), nb::arg("object_class"), nb::arg("chunk_size"), nb::arg("checksum"))
        .def(
            "remove",
            [](ArraysHandle& self, const nb::bytes& name) {
                self.use([key = key_of(name)](Store& store) { store.remove(key); });
            },
            nb::arg("name"))
        .def(
            "attributes",
            [](ArraysHandle& self, const nb::bytes& name) {
                return texts(self.use([key = key_of(name)](Store& store) { return store.attributes(key); }));
            },
            nb::arg("name"))
        .def("attribute", &attribute, nb::arg("name"), nb::arg("attribute"))
        .def("set_attribute", &set_attribute, nb::arg("name"), nb::arg("attribute"), nb::arg("type"),
             nb::arg("count"), nb::arg("values"))
        .def(
            "remove_attribute",
            [](ArraysHandle& self, const nb::bytes& name, const nb::bytes& attribute) {
                self.use([array = key_of(name), key = key_of(attribute)](Store& store) {
                    store.remove_attribute(array, key);
                });
            },
            nb::arg("name"), nb::arg("attribute"));
}

} // namespace stepstore::python

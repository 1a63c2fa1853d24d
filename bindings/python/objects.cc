// Key-value and array objects for Python, one to one with the C++ client.
#include "common.h"

#include <array>
#include <deque>

namespace stepstore::python {

namespace {

nb::object get_value(KeyValueHandle& self, const nb::bytes& key)
{
    const auto get_into = [&](MutableBytes into) {
        return self.use([&](auto& it) { return it.get_into(text_of(key), into); });
    };
    std::array<std::byte, 16384> small; // one call for usual values
    std::optional<std::size_t> size = get_into(small);
    if (size && *size <= small.size()) return nb::bytes(small.data(), *size);
    while (size) { // again when it was replaced by a larger one meanwhile
        NewBytes value(*size);
        size = get_into(value.memory());
        if (size && *size <= value.memory().size()) return value.first(*size);
    }
    return nb::none();
}

void put_many(KeyValueHandle& self, const std::vector<std::pair<nb::bytes, nb::object>>& items)
{
    std::deque<Buffer> values; // which cannot move
    for (const auto& item : items)
        values.emplace_back(item.second, false);
    self.use([&](auto& it) {
        for (std::size_t i = 0; i < items.size(); ++i)
            it.put(text_of(items[i].first), values[i].bytes());
    });
}

// None: there was no value; else its size and, where it fitted, its bytes.
nb::object replaced(std::optional<std::size_t> size, const std::vector<std::byte>& old)
{
    if (!size) return nb::none();
    nb::object value = nb::none();
    if (*size <= old.size()) value = nb::bytes(old.data(), *size);
    return nb::make_tuple(*size, value);
}

nb::list keys_below(KeyValueHandle& self, const nb::bytes& prefix, const std::string& delimiter)
{
    if (delimiter.size() > 1) throw Error(-DER_INVAL, "the delimiter is one character, or none");
    const char character = delimiter.empty() ? '\0' : delimiter.front();
    const std::string beginning(text_of(prefix));
    nb::list found;
    for (const std::string& key : self.use([&](auto& it) { return it.list_below(beginning, character); }))
        found.append(nb::bytes(key.data(), key.size()));
    return found;
}

std::vector<nb::object> get_many(KeyValueHandle& self, const std::vector<nb::bytes>& keys)
{
    std::vector<std::string_view> names;
    names.reserve(keys.size());
    for (const nb::bytes& key : keys)
        names.push_back(text_of(key));
    const auto found = self.use([&](auto& it) { return it.get_many(names); });
    std::vector<nb::object> values;
    values.reserve(found.size());
    for (const auto& value : found)
        values.push_back(value ? nb::object(nb::bytes(value->data(), value->size())) : nb::none());
    return values;
}

// One cell at index, index + stride, ... after the other.
void write_strided(ArrayHandle& self, std::uint64_t index, std::uint64_t stride, nb::handle data)
{
    const Buffer memory(data, false);
    self.use([&](auto& it) {
        const Bytes bytes = memory.bytes();
        std::vector<Range> cells(bytes.size() / it.attributes().cell_size);
        for (std::size_t i = 0; i < cells.size(); ++i)
            cells[i] = {index + i * stride, 1};
        it.write(cells, {&bytes, 1});
    });
}

void bind_key_value(nb::module_& module)
{
    nb::class_<KeyPages>(module, "KeyPages").def("next", [](KeyPages& self) {
        std::vector<nb::bytes> keys;
        for (const std::string_view key : unlocked([&] { return self.next(); }))
            keys.push_back(to_bytes(key));
        return keys;
    });
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
                return self.use([&](auto& it) { return it.remove(text_of(key), wanted); });
            },
            nb::arg("key"), nb::arg("condition") = "none")
        .def(
            "exchange",
            [](KeyValueHandle& self, const nb::bytes& key, nb::handle value, std::size_t room) {
                std::vector<std::byte> old(room);
                std::optional<std::size_t> size;
                if (value.is_none()) {
                    size = self.use([&](auto& it) { return it.take(text_of(key), old); });
                } else {
                    const Buffer memory(value, false);
                    size = self.use([&](auto& it) { return it.exchange(text_of(key), memory.bytes(), old); });
                }
                return replaced(size, old);
            },
            nb::arg("key"), nb::arg("value").none(), nb::arg("room"),
            "Puts or removes (None); the size of what it replaced, and its bytes where they fit.")
        .def(
            "put_if",
            [](KeyValueHandle& self, const nb::bytes& key, nb::handle expected, nb::handle value) {
                std::optional<Buffer> there, memory;
                if (!expected.is_none()) there.emplace(expected, false);
                if (!value.is_none()) memory.emplace(value, false);
                return self.use([&](auto& it) {
                    if (!memory) return it.remove_if(text_of(key), there.value().bytes());
                    return it.put_if(text_of(key),
                                     there ? std::optional<Bytes>(there->bytes()) : std::nullopt,
                                     memory->bytes());
                });
            },
            nb::arg("key"), nb::arg("expected").none(), nb::arg("value").none(),
            "Puts or removes (None) if the value is the expected one (None: there is none). Whether it did.")
        .def("keys_below", &keys_below, nb::arg("prefix"), nb::arg("delimiter") = "")
        .def("put_many", &put_many, nb::arg("items"),
             "Puts (key, value) pairs in turn. What stands before one that fails is put.")
        .def("get_many", &get_many, nb::arg("keys"),
             "Values, or None, of the first of the keys: at least one, and then up to 16 MiB and 256 keys.")
        .def("count",
             [](KeyValueHandle& self) {
                 std::size_t keys = 0;
                 self.use([&](auto& it) {
                     it.list([&](std::string_view) {
                         ++keys;
                         return true;
                     });
                 });
                 return keys;
             })
        .def("pages", [](KeyValueHandle& self) { return self.use([](auto& it) { return it.pages(); }); })
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
        .def("write_strided", &write_strided, nb::arg("index"), nb::arg("stride"), nb::arg("data"))
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

Condition condition_of(const std::string& name)
{
    if (name == "none") return Condition::none;
    if (name == "must_not_exist") return Condition::must_not_exist;
    if (name == "must_exist") return Condition::must_exist;
    throw Error(-DER_INVAL, "condition '" + name + "': use none, must_not_exist or must_exist");
}

void bind_objects(nb::module_& module)
{
    bind_key_value(module);
    bind_array(module);
}

} // namespace stepstore::python

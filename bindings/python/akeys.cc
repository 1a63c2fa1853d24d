// Objects of dkeys and akeys for Python, one to one with the C++ client. Listings call a function with page
// after page, and hold one page.
#include "common.h"

namespace stepstore::python {

namespace {

using ObjectHandle = Closable<Object>;
using Runs = std::vector<std::pair<std::uint64_t, std::uint64_t>>; // of records: the first, and how many

constexpr std::size_t most_of_page = 1024; // entries
constexpr std::size_t bytes_of_page = 1 << 20;

// Entry: what `list` gives, as it is kept. Each page goes to the function of Python `each`.
template <class Entry, class List>
void give_pages(ObjectHandle& self, const nb::object& each, const List& list)
{
    const std::shared_ptr<Object> held = self.hold();
    unlocked([&](Unlocked& away) {
        std::vector<Entry> page;
        std::size_t bytes = 0;
        const auto give = [&] {
            away.locked([&] {
                nb::list given;
                for (const Entry& entry : page)
                    if constexpr (std::is_same_v<Entry, std::string>)
                        given.append(to_bytes(entry));
                    else
                        given.append(nb::make_tuple(entry.first, entry.second));
                const auto call = [&] {
                    return PyObject_CallFunctionObjArgs(each.ptr(), given.ptr(), nullptr);
                };
                if (!nb::steal(stays_when_ended(call)).is_valid()) throw nb::python_error();
            });
            page.clear();
            bytes = 0;
        };
        list(*held, [&](Entry entry, std::size_t size) {
            page.push_back(std::move(entry));
            bytes += size;
            if (page.size() == most_of_page || bytes >= bytes_of_page) give();
            return true;
        });
        if (!page.empty()) give();
    });
}

std::string text_of(Bytes bytes)
{
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void list_dkeys(ObjectHandle& self, const nb::object& each)
{
    give_pages<std::string>(self, each, [](const Object& object, const auto& take) {
        object.list_dkeys([&](Bytes dkey) { return take(text_of(dkey), dkey.size()); });
    });
}

void list_akeys(ObjectHandle& self, const nb::bytes& dkey, const nb::object& each)
{
    give_pages<std::string>(self, each, [&](const Object& object, const auto& take) {
        object.list_akeys(bytes_of(dkey), [&](Bytes akey) { return take(text_of(akey), akey.size()); });
    });
}

void list_records(ObjectHandle& self, const nb::bytes& dkey, const nb::bytes& akey, const nb::object& each)
{
    give_pages<Runs::value_type>(self, each, [&](const Object& object, const auto& take) {
        object.list_records(bytes_of(dkey), bytes_of(akey), [&](const Range& run) {
            return take(Runs::value_type(run.index, run.length), sizeof run);
        });
    });
}

nb::object describe(ObjectHandle& self, const nb::bytes& dkey, const nb::bytes& akey)
{
    const auto info = self.use([&](auto& it) { return it.describe(bytes_of(dkey), bytes_of(akey)); });
    if (!info) return nb::none();
    return nb::make_tuple(info->type == AkeyType::single ? "single" : "array", info->size);
}

nb::object get(ObjectHandle& self, const nb::bytes& dkey, const nb::bytes& akey)
{
    const auto value = self.use([&](auto& it) { return it.fetch(bytes_of(dkey), bytes_of(akey)); });
    if (!value) return nb::none();
    return nb::bytes(value->data(), value->size());
}

// All at once.
void put(ObjectHandle& self, const nb::bytes& dkey,
         const std::vector<std::pair<nb::bytes, nb::bytes>>& values)
{
    std::vector<Bytes> memory;
    memory.reserve(values.size()); // so that references to them stay valid
    std::vector<AkeyUpdate> updates;
    for (const auto& [akey, value] : values) {
        const Bytes& bytes = memory.emplace_back(bytes_of(value));
        updates.push_back(
            {.akey = bytes_of(akey), .record_size = bytes.size(), .records = {}, .memory = {&bytes, 1}});
    }
    self.use([&](auto& it) { it.update(bytes_of(dkey), updates); });
}

std::vector<Range> ranges_of(const Runs& runs)
{
    std::vector<Range> ranges;
    for (const auto& [first, count] : runs)
        ranges.push_back({first, count});
    return ranges;
}

void read_records(ObjectHandle& self, const nb::bytes& dkey, const nb::bytes& akey, std::uint64_t record_size,
                  const Runs& runs, nb::handle into)
{
    const Buffer buffer(into, true);
    const MutableBytes memory = buffer.writable();
    const std::vector<Range> ranges = ranges_of(runs);
    AkeyFetch fetch{.akey = bytes_of(akey),
                    .type = AkeyType::array,
                    .record_size = record_size,
                    .records = ranges,
                    .memory = {&memory, 1}};
    self.use([&](auto& it) { it.fetch(bytes_of(dkey), {&fetch, 1}); });
}

void write_records(ObjectHandle& self, const nb::bytes& dkey, const nb::bytes& akey,
                   std::uint64_t record_size, const Runs& runs, nb::handle data)
{
    const Buffer buffer(data, false);
    const Bytes memory = buffer.bytes();
    const std::vector<Range> ranges = ranges_of(runs);
    const AkeyUpdate update{.akey = bytes_of(akey),
                            .type = AkeyType::array,
                            .record_size = record_size,
                            .records = ranges,
                            .memory = {&memory, 1}};
    self.use([&](auto& it) { it.update(bytes_of(dkey), {&update, 1}); });
}

} // namespace

void bind_akeys(nb::module_& module, nb::class_<ContainerHandle>& container)
{
    nb::class_<ObjectHandle>(module, "Object")
        .def_prop_ro("id", [](ObjectHandle& self) { return self.get().id(); })
        .def("list_dkeys", &list_dkeys, nb::arg("each"))
        .def("list_akeys", &list_akeys, nb::arg("dkey"), nb::arg("each"))
        .def("list_records", &list_records, nb::arg("dkey"), nb::arg("akey"), nb::arg("each"),
             "Pages of (first record, how many), ascending.")
        .def("describe", &describe, nb::arg("dkey"), nb::arg("akey"),
             "('single', bytes of the value) or ('array', bytes of a record). None: there is no such akey.")
        .def("get", &get, nb::arg("dkey"), nb::arg("akey"), "A single value, or None.")
        .def("put", &put, nb::arg("dkey"), nb::arg("values"), "Single values, (akey, value), all at once.")
        .def("read_records", &read_records, nb::arg("dkey"), nb::arg("akey"), nb::arg("record_size"),
             nb::arg("runs"), nb::arg("into"), "Fills the buffer; with zeros where there are no records.")
        .def("write_records", &write_records, nb::arg("dkey"), nb::arg("akey"), nb::arg("record_size"),
             nb::arg("runs"), nb::arg("data"))
        .def(
            "punch",
            [](ObjectHandle& self, const nb::bytes& dkey) {
                self.use([&](auto& it) { it.punch(bytes_of(dkey)); });
            },
            nb::arg("dkey"))
        .def("destroy", [](ObjectHandle& self) { self.use([&](auto& it) { it.destroy(); }); })
        .def(
            "last_update",
            [](ObjectHandle& self) {
                const LastUpdate last = self.use([&](auto& it) { return it.last_update(); });
                return nb::make_tuple(last.epoch, last.seconds, last.nanoseconds);
            },
            "Its epoch (0: never), and the time of that.")
        .def("close", &ObjectHandle::close)
        .def_prop_ro("closed", &ObjectHandle::closed);
    container.def(
        "object",
        [](ContainerHandle& self, const ObjectId& id, bool read_only) {
            const Access access = read_only ? Access::read_only : Access::read_write;
            return self.use([&](auto& it) { return ObjectHandle(it.object(id, access)); });
        },
        nb::arg("id"), nb::arg("read_only") = false);
}

} // namespace stepstore::python

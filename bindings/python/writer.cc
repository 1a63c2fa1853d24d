// The writer of streams of steps for Python. Dimensions are in C order here, as numpy has them.
// Threads: calls of several Python threads wait for each other. Errors: those of steps::Writer.
#include "serial.h"

#include "comm/communicator.h"
#include "steps/write/writer.h"

#include <nanobind/stl/tuple.h>

namespace stepstore::python {

namespace {

using steps::Writer;
using steps::WriterOptions;

// group: "auto", "world", "self", or the Fortran handle of an MPI communicator.
std::shared_ptr<Communicator> group_of(const std::string& key, const std::string& group, int handle,
                                       double timeout)
{
    if (group == "comm") return form_group_within_fortran(handle, key, timeout);
    if (group == "self") return self_communicator();
    if (group == "world") return form_group(key, GroupChoice::world, timeout);
    return form_group(key, GroupChoice::automatic, timeout);
}

steps::Type type_named(const std::string& name)
{
    for (unsigned number = 1; number <= static_cast<unsigned>(steps::Type::structure); ++number)
        if (const auto type = static_cast<steps::Type>(number); steps::name_of(type) == name) return type;
    throw Error(-DER_INVAL, "there is no type '" + name + "'");
}

using Fields = std::vector<std::tuple<std::string, std::uint64_t, std::string, std::uint64_t>>;

std::shared_ptr<const steps::Structure> structure_of(const std::string& name, std::uint64_t size,
                                                     const Fields& fields)
{
    if (fields.empty()) return nullptr;
    auto made = std::make_shared<steps::Structure>();
    made->name = name;
    made->size = size;
    for (const auto& [field, offset, type, count] : fields)
        made->fields.push_back({field, offset, type_named(type), count});
    return made;
}

using WriterHandle = Serial<OwnState::stream_writer, Writer>;

class StepWriterHandle : public WriterHandle {
public:
    StepWriterHandle(const std::string& location, const WriterOptions& options, int rank, int size,
                     std::shared_ptr<Communicator>&& ranks)
        : WriterHandle("writer of " + location, location, options, std::move(ranks)), rank_(rank),
          size_(size), location_(use([](Writer& it) { return it.location().text(); }))
    {
    }
    // Known in a forked child too.
    const std::string& location() const { return location_; }
    int rank() const { return rank_; }
    int size() const { return size_; }

private:
    int rank_, size_;
    std::string location_;
};

std::uint64_t define(StepWriterHandle& self, const nb::bytes& name, const std::string& type,
                     const std::string& kind, std::uint64_t size, const Fields& fields)
{
    steps::ShapeKind shape = steps::ShapeKind::global_array;
    for (unsigned number = 1; number <= static_cast<unsigned>(steps::ShapeKind::joined_array); ++number)
        if (const auto one = static_cast<steps::ShapeKind>(number); steps::name_of(one) == kind) shape = one;
    return self.use([&](Writer& writer) {
        return writer.define(text_of(name), type_named(type), shape,
                             structure_of(std::string(text_of(name)), size, fields));
    });
}

void put(StepWriterHandle& self, steps::VariableId variable, const std::vector<std::uint64_t>& shape,
         const std::vector<std::uint64_t>& start, const std::vector<std::uint64_t>& count, nb::handle data)
{
    const Buffer memory(data, false);
    self.use([&](Writer& writer) {
        writer.put(variable, shape, start, count, memory.bytes().data(), steps::Mode::sync);
    });
}

void put_value(StepWriterHandle& self, steps::VariableId variable, nb::handle data)
{
    const Buffer memory(data, false);
    self.use([&](Writer& writer) { writer.put_value(variable, memory.bytes().data()); });
}

void attribute(StepWriterHandle& self, const nb::bytes& name, const std::string& type, nb::handle data,
               std::uint64_t count, bool array)
{
    const Buffer memory(data, false);
    self.use([&](Writer& writer) {
        writer.attribute(text_of(name), type_named(type), memory.bytes().data(), count, array);
    });
}

} // namespace

void bind_writer(nb::module_& module)
{
    nb::class_<StepWriterHandle>(module, "StepWriter")
        .def(
            "__init__",
            [](StepWriterHandle* self, const std::string& location, bool append,
               const std::map<std::string, std::string>& settings, const std::string& group, int handle,
               double timeout) {
                auto options = options_of<WriterOptions>("writer", settings);
                options.append = append;
                const std::string key =
                    "opening '" + location + "' for " + (append ? "appending" : "writing");
                auto ranks = unlocked([&] { return group_of(key, group, handle, timeout); });
                new (self)
                    StepWriterHandle(location, options, ranks->rank(), ranks->size(), std::move(ranks));
            },
            nb::arg("location"), nb::arg("append"), nb::arg("settings"), nb::arg("group"), nb::arg("handle"),
            nb::arg("timeout"))
        .def("close", &StepWriterHandle::close)
        .def("drop", &StepWriterHandle::drop)
        .def_prop_ro("closed", &StepWriterHandle::closed)
        .def_prop_ro("location", [](StepWriterHandle& self) { return to_text(self.location()); })
        .def_prop_ro("rank", &StepWriterHandle::rank)
        .def_prop_ro("size", &StepWriterHandle::size)
        .def("steps", [](StepWriterHandle& self) { return self.use([](Writer& it) { return it.steps(); }); })
        .def("begin_step",
             [](StepWriterHandle& self) { return self.use([](Writer& it) { return it.begin_step(); }); })
        .def("end_step", [](StepWriterHandle& self) { self.use([](Writer& it) { it.end_step(); }); })
        .def("define", &define, nb::arg("name"), nb::arg("type"), nb::arg("kind"), nb::arg("size") = 0,
             nb::arg("fields") = Fields())
        .def(
            "compress",
            [](StepWriterHandle& self, steps::VariableId variable, const std::string& method, int level) {
                self.use([&](Writer& it) {
                    it.compress(variable, {steps::compression_method_named(method), level});
                });
            },
            nb::arg("variable"), nb::arg("method"), nb::arg("level") = 0)
        .def("put", &put, nb::arg("variable"), nb::arg("shape"), nb::arg("start"), nb::arg("count"),
             nb::arg("data"))
        .def("put_value", &put_value, nb::arg("variable"), nb::arg("data"))
        .def(
            "put_string",
            [](StepWriterHandle& self, steps::VariableId variable, const nb::bytes& text) {
                self.use([&](Writer& it) { it.put_string(variable, text_of(text)); });
            },
            nb::arg("variable"), nb::arg("text"))
        .def("attribute", &attribute, nb::arg("name"), nb::arg("type"), nb::arg("data"), nb::arg("count"),
             nb::arg("array"))
        .def(
            "text_attribute",
            [](StepWriterHandle& self, const nb::bytes& name, const nb::list& texts, bool array) {
                std::vector<std::string> values;
                for (const nb::handle text : texts)
                    values.emplace_back(text_of(nb::cast<nb::bytes>(text)));
                self.use([&](Writer& it) { it.attribute(text_of(name), values, array); });
            },
            nb::arg("name"), nb::arg("texts"), nb::arg("array"));
}

} // namespace stepstore::python

// The writer of streams of steps for Python. Dimensions are in C order here, as numpy has them.
// Threads: calls of several Python threads wait for each other. Errors: those of steps::Writer.
#include "common.h"

#include "comm/communicator.h"
#include "steps/write/writer.h"

#include <map>
#include <mutex>

#include <nanobind/stl/map.h>
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

class StepWriterHandle {
public:
    StepWriterHandle(const std::string& location, bool append,
                     const std::map<std::string, std::string>& settings, const std::string& group, int handle,
                     double timeout)
    {
        WriterOptions options;
        options.append = append;
        for (const auto& [name, value] : settings)
            if (!options.set(name, value)) throw Error(-DER_INVAL, unknown_option(name));
        const std::string key = "opening '" + location + "' for " + (append ? "appending" : "writing");
        const auto ranks = group_of(key, group, handle, timeout);
        rank_ = ranks->rank();
        size_ = ranks->size();
        open_->writer.emplace(location, options, ranks);
        location_ = open_->writer->location().text();
    }
    ~StepWriterHandle()
    {
        if (open_.mine()) unlocked_at_end([&] { open_ = {}; });
    }
    StepWriterHandle(const StepWriterHandle&) = delete;
    StepWriterHandle& operator=(const StepWriterHandle&) = delete;

    template <class Body>
    auto use(Body&& body)
    {
        return unlocked([&] {
            Open& open = *open_;
            const std::lock_guard lock(open.mutex);
            if (!open.writer)
                throw Error(-DER_NO_HDL, "this writer of " + location_ + " is closed: open another one");
            return body(*open.writer);
        });
    }
    void close()
    {
        if (!open_.mine()) return; // the parent's
        unlocked([&] {
            Open& open = *open_;
            const std::lock_guard lock(open.mutex);
            if (open.writer) open.writer->close();
            open.writer.reset();
        });
    }
    void drop() // without close(): the stream is not marked as ended
    {
        if (!open_.mine()) return; // the parent's
        unlocked([&] {
            Open& open = *open_;
            const std::lock_guard lock(open.mutex);
            open.writer.reset();
        });
    }
    bool closed()
    {
        return !open_.mine() || unlocked([&] {
            Open& open = *open_;
            const std::lock_guard lock(open.mutex);
            return !open.writer;
        });
    }
    // Known in a forked child too.
    const std::string& location() const { return location_; }
    int rank() const { return rank_; }
    int size() const { return size_; }

private:
    static std::string unknown_option(const std::string& name)
    {
        std::string known;
        for (const std::string& option : WriterOptions::names())
            known += (known.empty() ? "" : ", ") + option;
        return "a writer has no option '" + name + "': the options are " + known;
    }

    struct Open {
        std::mutex mutex; // of OwnState::stream_writer: guards writer
        std::optional<Writer> writer;
    };
    OfProcess<OwnState::stream_writer, Open> open_ = std::make_shared<Open>();
    std::string location_;
    int rank_ = 0, size_ = 1;
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
                unlocked(
                    [&] { new (self) StepWriterHandle(location, append, settings, group, handle, timeout); });
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

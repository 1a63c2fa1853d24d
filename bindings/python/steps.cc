// The reader of streams of steps for Python. Dimensions are in the writer's order here; the package turns
// them for numpy.
#include "common.h"

#include "steps/check/check.h"
#include "steps/layouts/layout.h"
#include "steps/read/reader.h"
#include "steps/stream/stream.h"

#include <map>
#include <mutex>

#include <nanobind/stl/map.h>

namespace stepstore::python {

namespace {

using steps::Reader;
using steps::ReaderOptions;

// A reader is one thread's at a time: calls of several Python threads wait for each other here.
class StepsHandle {
public:
    StepsHandle(const std::string& location, bool stream, std::uint64_t snapshot,
                const std::map<std::string, std::string>& settings)
    {
        ReaderOptions options;
        options.snapshot = snapshot;
        options.mode = stream ? steps::ReadMode::stream : steps::ReadMode::random_access;
        for (const auto& [name, value] : settings) {
            if (!options.set(name, value)) throw Error(-DER_INVAL, unknown_option(name));
        }
        open_->reader.emplace(location, options, self_communicator());
    }
    ~StepsHandle()
    {
        if (open_.mine()) unlocked_at_end([&] { open_ = {}; });
    }
    StepsHandle(const StepsHandle&) = delete;
    StepsHandle& operator=(const StepsHandle&) = delete;

    template <class Body>
    auto use(Body&& body)
    {
        return unlocked([&] {
            Open& open = *open_;
            const std::lock_guard lock(open.mutex);
            if (!open.reader) throw Error(-DER_NO_HDL, "this stream is closed: open it again");
            return body(*open.reader);
        });
    }
    void close()
    {
        if (!open_.mine()) return; // the parent's
        unlocked([&] {
            Open& open = *open_;
            const std::lock_guard lock(open.mutex);
            open.reader.reset();
        });
    }
    bool closed()
    {
        return !open_.mine() || unlocked([&] {
            Open& open = *open_;
            const std::lock_guard lock(open.mutex);
            return !open.reader;
        });
    }

private:
    static std::string unknown_option(const std::string& name)
    {
        std::string known;
        for (const std::string& option : ReaderOptions::names())
            known += (known.empty() ? "" : ", ") + option;
        return "a reader has no option '" + name + "': the options are " + known;
    }

    struct Open {
        std::mutex mutex; // of OwnState::stream_reader: guards reader
        std::optional<Reader> reader;
    };
    OfProcess<OwnState::stream_reader, Open> open_ = std::make_shared<Open>();
};

using Step = std::optional<std::uint64_t>;

std::uint64_t step_of(Step step)
{
    return step.value_or(steps::this_step);
}

std::string raw(const steps::Scalar& scalar, steps::Type type)
{
    return {reinterpret_cast<const char*>(scalar.bytes.data()), steps::size_of(type)};
}

nb::list to_list(const std::vector<std::string>& texts)
{
    nb::list result;
    for (const std::string& text : texts)
        result.append(to_bytes(text));
    return result;
}

nb::object minmax_object(const std::optional<steps::MinMax>& minmax, steps::Type type)
{
    if (!minmax) return nb::none();
    return nb::make_tuple(to_bytes(raw(minmax->min, type)), to_bytes(raw(minmax->max, type)));
}

std::string status_text(steps::StepStatus status)
{
    switch (status) {
    case steps::StepStatus::ok: return "ok";
    case steps::StepStatus::not_ready: return "not_ready";
    case steps::StepStatus::end_of_stream: return "end_of_stream";
    case steps::StepStatus::writer_died: return "writer_died";
    case steps::StepStatus::other_error: break;
    }
    return "other_error";
}

// Memory for a box: as many bytes as the elements asked for, or an error before anything is read.
MutableBytes memory_for(const Buffer& buffer, std::uint64_t elements, const steps::Variable& variable)
{
    if (buffer.writable().size() / std::max<std::size_t>(steps::element_size(variable), 1) < elements)
        throw Error(-DER_INVAL, "the memory has room for fewer than the " + std::to_string(elements) +
                                    " elements asked for");
    return buffer.writable();
}

const steps::Variable& definition_of(Reader& reader, steps::VariableId variable)
{
    const auto& known = reader.definitions();
    if (variable >= known.size())
        throw Error(-DER_NONEXIST, "there is no variable number " + std::to_string(variable));
    return known[variable];
}

nb::list blocks(StepsHandle& self, steps::VariableId variable, Step step)
{
    steps::Type type{};
    const std::vector<steps::Block> found = self.use([&](Reader& reader) {
        type = definition_of(reader, variable).type;
        return reader.blocks(variable, step_of(step));
    });
    nb::list result;
    for (const steps::Block& block : found)
        result.append(nb::make_tuple(block.writer_rank, block.index, block.start, block.count,
                                     minmax_object(block.minmax, type)));
    return result;
}

nb::object minmax(StepsHandle& self, steps::VariableId variable, Step step)
{
    steps::Type type{};
    const auto found = self.use([&](Reader& reader) {
        type = definition_of(reader, variable).type;
        return reader.minmax(variable, step_of(step));
    });
    return minmax_object(found, type);
}

void get(StepsHandle& self, steps::VariableId variable, const steps::Dims& start, const steps::Dims& count,
         nb::handle into, Step step)
{
    const Buffer buffer(into, true);
    self.use([&](Reader& reader) {
        const MutableBytes memory =
            memory_for(buffer, steps::elements(count), definition_of(reader, variable));
        reader.get(variable, start, count, memory.data(), steps::Mode::sync, step_of(step));
    });
}

void get_block(StepsHandle& self, steps::VariableId variable, std::uint64_t block, const steps::Dims& start,
               const steps::Dims& count, nb::handle into, Step step)
{
    const Buffer buffer(into, true);
    self.use([&](Reader& reader) {
        const MutableBytes memory =
            memory_for(buffer, steps::elements(count), definition_of(reader, variable));
        reader.get_block(variable, block, start, count, memory.data(), steps::Mode::sync, step_of(step));
    });
}

nb::object get_value(StepsHandle& self, steps::VariableId variable, std::uint64_t block, Step step)
{
    return to_bytes(self.use([&](Reader& reader) {
        const steps::Variable definition = definition_of(reader, variable);
        if (definition.type == steps::Type::string) return reader.get_string(variable, block, step_of(step));
        std::string bytes(steps::element_size(definition), 0);
        reader.get_value(variable, bytes.data(), block, step_of(step));
        return bytes;
    }));
}

nb::object attribute(StepsHandle& self, const nb::bytes& name, Step step)
{
    const auto found =
        self.use([&](Reader& reader) { return reader.attribute(text_of(name), step_of(step)); });
    if (!found) return nb::none();
    return nb::make_tuple(std::string(steps::name_of(found->type)), found->array,
                          nb::bytes(found->data.data(), found->data.size()), to_list(found->strings));
}

// (name, size, [(name, offset, type, number of elements)]); None: of another type.
nb::object structure_object(const std::shared_ptr<const steps::Structure>& structure)
{
    if (structure == nullptr) return nb::none();
    nb::list fields;
    for (const auto& field : structure->fields)
        fields.append(nb::make_tuple(to_bytes(field.name), field.offset,
                                     std::string(steps::name_of(field.type)), field.count));
    return nb::make_tuple(to_bytes(structure->name), structure->size, fields);
}

nb::list definitions(StepsHandle& self)
{
    const std::vector<steps::Variable> known = self.use([](Reader& reader) { return reader.definitions(); });
    nb::list result;
    for (const steps::Variable& variable : known)
        result.append(nb::make_tuple(to_bytes(variable.name), std::string(steps::name_of(variable.type)),
                                     std::string(steps::name_of(variable.kind)),
                                     structure_object(variable.structure)));
    return result;
}

void bind_walk(nb::class_<StepsHandle>& handle)
{
    handle
        .def(
            "__init__",
            [](StepsHandle* self, const std::string& location, bool stream, std::uint64_t snapshot,
               const std::map<std::string, std::string>& settings) {
                unlocked([&] { new (self) StepsHandle(location, stream, snapshot, settings); });
            },
            nb::arg("location"), nb::arg("stream"), nb::arg("snapshot"), nb::arg("settings"))
        .def(
            "begin_step",
            [](StepsHandle& self, double timeout) {
                return status_text(self.use([&](Reader& reader) { return reader.begin_step(timeout); }));
            },
            nb::arg("timeout"))
        .def("dead_writer",
             [](StepsHandle& self) { return self.use([](Reader& r) { return r.dead_writer(); }); })
        .def("end_step", [](StepsHandle& self) { self.use([](Reader& reader) { reader.end_step(); }); })
        .def("current_step",
             [](StepsHandle& self) { return self.use([](Reader& r) { return r.current_step(); }); })
        .def("in_step", [](StepsHandle& self) { return self.use([](Reader& r) { return r.in_step(); }); })
        .def("steps", [](StepsHandle& self) { return self.use([](Reader& r) { return r.steps(); }); })
        .def("first_step",
             [](StepsHandle& self) { return self.use([](Reader& r) { return r.first_step(); }); })
        .def("ended", [](StepsHandle& self) { return self.use([](Reader& r) { return r.closed(); }); })
        .def("close", &StepsHandle::close)
        .def_prop_ro("closed", &StepsHandle::closed);
}

nb::dict to_dict(const std::pair<steps::StreamDescription, Location>& described)
{
    const auto& [stream, location] = described;
    nb::dict info;
    info["pool"] = to_text(location.pool);
    info["container"] = to_text(location.container);
    info["stream"] = to_text(location.stream);
    info["format"] = stream.format;
    info["generation"] = stream.generation;
    info["segments"] = stream.segments;
    info["layout"] = to_text(stream.layout);
    info["objects"] = to_text(stream.objects);
    info["step_mode"] = to_text(stream.step_mode);
    info["order"] = stream.order == steps::Order::row_major ? "row-major" : "column-major";
    info["ranks"] = stream.ranks;
    info["chunk_size"] = stream.chunk_size;
    info["object_class"] = to_text(stream.object_class);
    info["data_chunk_size"] = stream.data_chunk_size;
    info["data_object_class"] = to_text(stream.data_object_class);
    info["closed"] = stream.steps.has_value();
    info["writer_host"] = to_text(stream.writer_host);
    info["writer_process"] = stream.writer_process;
    info["created"] = stream.created;
    if (stream.steps) info["steps"] = *stream.steps;
    return info;
}

void bind_looking(nb::class_<StepsHandle>& handle)
{
    handle.def("definitions", &definitions)
        .def(
            "variables",
            [](StepsHandle& self, Step step) {
                return self.use([&](Reader& reader) {
                    const auto present = reader.variables(step_of(step));
                    return std::vector<steps::VariableId>(present.begin(), present.end());
                });
            },
            nb::arg("step") = nb::none())
        .def(
            "shape",
            [](StepsHandle& self, steps::VariableId variable, Step step) {
                return self.use([&](Reader& reader) { return reader.shape(variable, step_of(step)); });
            },
            nb::arg("variable"), nb::arg("step") = nb::none())
        .def(
            "available_steps",
            [](StepsHandle& self, steps::VariableId variable) {
                return self.use([&](Reader& reader) { return reader.available_steps(variable); });
            },
            nb::arg("variable"))
        .def("blocks", &blocks, nb::arg("variable"), nb::arg("step") = nb::none())
        .def("minmax", &minmax, nb::arg("variable"), nb::arg("step") = nb::none())
        .def(
            "attribute_names",
            [](StepsHandle& self, Step step) {
                return to_list(
                    self.use([&](Reader& reader) { return reader.attribute_names(step_of(step)); }));
            },
            nb::arg("step") = nb::none())
        .def("attribute", &attribute, nb::arg("name"), nb::arg("step") = nb::none())
        .def("writer_profile",
             [](StepsHandle& self) { return self.use([](Reader& r) { return r.writer_profile_json(); }); })
        .def("readers_profile",
             [](StepsHandle& self) { return self.use([](Reader& r) { return r.readers_profile_json(); }); })
        .def("profile",
             [](StepsHandle& self) { return self.use([](Reader& r) { return r.profile_json(); }); })
        .def("describe",
             [](StepsHandle& self) {
                 return to_dict(self.use([](Reader& r) { return std::pair(r.describe(), r.location()); }));
             })
        .def("column_major",
             [](StepsHandle& self) {
                 return self.use([](Reader& r) { return r.order() == steps::Order::column_major; });
             })
        .def("location",
             [](StepsHandle& self) { return self.use([](Reader& r) { return r.location().text(); }); });
}

nb::dict to_dict(const steps::StreamReport& report)
{
    nb::list streams, findings;
    for (const steps::StreamSummary& stream : report.streams) {
        nb::dict one;
        one["name"] = to_text(stream.name);
        one["generation"] = stream.generation;
        one["layout"] = to_text(stream.layout);
        one["ranks"] = stream.ranks;
        one["segments"] = stream.segments;
        one["closed"] = stream.closed;
        one["whole_steps"] = stream.whole_steps;
        one["damaged_steps"] = stream.damaged_steps;
        one["half_steps"] = stream.half_steps;
        one["gone_steps"] = stream.gone_steps;
        one["metadata_bytes"] = stream.metadata_bytes;
        one["data_bytes"] = stream.data_bytes;
        streams.append(one);
    }
    for (const Finding& finding : report.findings)
        findings.append(python::to_dict(finding));
    nb::dict result;
    result["streams"] = streams;
    result["findings"] = findings;
    result["damaged"] = report.damaged();
    return result;
}

} // namespace

void bind_steps(nb::module_& module)
{
    nb::class_<StepsHandle> handle(module, "Steps");
    bind_walk(handle);
    bind_looking(handle);
    handle
        .def("get", &get, nb::arg("variable"), nb::arg("start"), nb::arg("count"), nb::arg("into"),
             nb::arg("step") = nb::none())
        .def("get_block", &get_block, nb::arg("variable"), nb::arg("block"), nb::arg("start"),
             nb::arg("count"), nb::arg("into"), nb::arg("step") = nb::none())
        .def("get_value", &get_value, nb::arg("variable"), nb::arg("block") = 0,
             nb::arg("step") = nb::none());

    module.def("layouts", [] {
        nb::list all;
        for (const steps::Layout* layout : steps::layouts())
            all.append(nb::make_tuple(to_text(layout->name), to_text(steps::name_of(layout->places)),
                                      layout->chunk_size));
        return all;
    });
    module.def(
        "list_streams",
        [](const std::string& location) {
            return to_list(unlocked([&] { return steps::list_streams(location); }));
        },
        nb::arg("location"));
    module.def(
        "remove_stream",
        [](const std::string& location) { unlocked([&] { steps::remove_stream(location); }); },
        nb::arg("location"));
    module.def(
        "aggregate_steps",
        [](const std::string& location, std::uint64_t keep) {
            const auto done = unlocked([&] { return steps::aggregate_steps(location, keep); });
            return nb::make_tuple(done.removed, done.first_kept, done.steps);
        },
        nb::arg("location"), nb::arg("keep"));
    module.def(
        "check_streams",
        [](const std::string& location, bool data) {
            return to_dict(unlocked([&] { return steps::check_streams(location, data); }));
        },
        nb::arg("location"), nb::arg("data"));
}

} // namespace stepstore::python

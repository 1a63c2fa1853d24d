// What `stepstore copy` must know of the records of streams, datasets and arrays: where their objects lie,
// and with which chunk size they are opened. A stream's record is also made anew for another place.
#include "common.h"

#include "arrays/head.h"
#include "arrays/record.h"
#include "base/process.h"
#include "base/system_error.h"
#include "client/lease.h"
#include "fields/record.h"
#include "steps/file.h"
#include "steps/layouts/data_files.h"
#include "steps/layouts/data_store.h"
#include "steps/layouts/layout.h"
#include "steps/layouts/reference/step_snapshots.h"
#include "steps/stream/stream_list.h"
#include "steps/stream_record.h"

namespace stepstore::python {

namespace {

nb::bytes to_python(const std::vector<std::byte>& bytes)
{
    return nb::bytes(bytes.data(), bytes.size());
}

// The objects of a segment have consecutive numbers from that of the side object on.
nb::dict to_dict(const steps::StreamRecord& record, const steps::Segment& segment)
{
    nb::dict one;
    one["generation"] = segment.generation;
    one["side"] = segment.side;
    one["first"] = segment.side.lo;
    one["numbers"] = 2 + segment.ranks + steps::metadata_numbers(record.objects, segment.ranks);
    one["data"] = segment.data.lo;
    one["ranks"] = segment.ranks;
    one["directory"] = to_text(segment.directory);
    return one;
}

nb::dict stream_record(const nb::bytes& bytes, const std::string& where)
{
    const steps::StreamRecord record = steps::decode_record(bytes_of(bytes), where);
    nb::dict told;
    told["layout"] = to_text(steps::layout_of(record).name);
    told["closed"] = record.closed;
    told["steps"] = record.steps;
    told["in_place"] = record.in_place();
    told["chunk_size"] = record.chunk_size;
    told["data_chunk_size"] = record.data_chunk_size;
    told["object_class"] = to_text(record.object_class);
    told["data_object_class"] = to_text(record.data_object_class);
    nb::list segments;
    for (const steps::Segment& one : record.earlier)
        segments.append(to_dict(record, one));
    segments.append(to_dict(record, steps::last_segment(record, record.steps)));
    told["segments"] = segments;
    return told;
}

// Of a segment whose numbers begin at `first` in another container. Its generation stays: the metadata holds
// it.
void move(steps::Segment& segment, std::uint64_t first, const steps::StreamRecord& record,
          const Container& container)
{
    steps::StreamRecord part = steps::segment_record(record, segment);
    steps::place_objects(container, part, first);
    segment.side = part.side;
    segment.metadata = part.metadata;
    segment.data = part.data;
    segment.directory = part.directory;
}

nb::bytes moved_record(const nb::bytes& bytes, ContainerHandle& handle,
                       const std::vector<std::uint64_t>& firsts, std::uint64_t count)
{
    const Container& container = handle.get();
    steps::StreamRecord record = steps::decode_record(bytes_of(bytes), "the stream to copy");
    if (firsts.size() != record.earlier.size() + 1)
        throw Error(-DER_INVAL, "the stream to copy has other segments than before: it was appended to");
    for (std::size_t i = 0; i < record.earlier.size(); ++i)
        move(record.earlier[i], firsts[i], record, container);
    steps::Segment last = steps::last_segment(record, count);
    move(last, firsts.back(), record, container);
    record.side = last.side;
    record.metadata = last.metadata;
    record.data = last.data;
    record.directory = last.directory;
    record.dropped.clear();
    record.closed = true;
    record.steps = count;
    return to_python(steps::encode_record(record));
}

nb::object step_snapshot(const nb::bytes& bytes, std::uint64_t step)
{
    const steps::StepSnapshot snapshot = steps::decode_snapshot(bytes_of(bytes), step);
    return nb::make_tuple(snapshot.epoch, snapshot.gone);
}

nb::dict array_header(const nb::bytes& bytes)
{
    const arrays::Header header = arrays::decode_header(bytes_of(bytes), "the array to copy");
    nb::list objects;
    for (const arrays::ObjectRange& range : header.objects)
        objects.append(nb::make_tuple(range.first, range.count));
    nb::dict told;
    told["removed"] = header.removed;
    told["object_class"] = to_text(header.layout.object_class);
    told["chunk_size"] = header.layout.chunk_size;
    told["objects"] = objects;
    return told;
}

// A file of a stream with the layout posix. No link is followed, and nothing outside of the pool is opened:
// base/files.h.
class StreamFile {
public:
    // make: it is a copy's, and made where it is not there.
    StreamFile(const std::string& pool, const std::string& directory, const std::string& name, bool make)
        : place_(steps::stream_directory(pool, directory) / name)
    {
        if (!steps::is_data_file(name))
            throw Error(-DER_INVAL, static_cast<const std::string&>(place_) + " is no file of a stream");
        unlocked([&] { make ? open_copy() : open(); });
    }
    std::uint64_t size() { return file().size(); }
    nb::bytes read(std::uint64_t at, std::size_t most)
    {
        std::vector<std::byte> bytes(most);
        bytes.resize(unlocked([&] { return file().read(at, bytes); }));
        return to_python(bytes);
    }
    void write(std::uint64_t at, const nb::bytes& bytes)
    {
        unlocked([&] { file().write(at, bytes_of(bytes)); });
    }
    // Its bytes and its name survive a power failure.
    void sync()
    {
        unlocked([&] {
            file().sync();
            sync_directory(place_.parent());
        });
    }
    void remove()
    {
        close();
        if (const int error = stepstore::remove(place_); error != 0)
            throw system_error(error, place_, "cannot remove the file");
    }
    void close() { file_.reset(); }
    std::string path() const { return place_; }

private:
    steps::File& file()
    {
        if (!file_) throw Error(-DER_NO_HDL, path() + ": the file was closed");
        return *file_;
    }
    void open()
    {
        file_ = steps::File::open(place_);
        if (!file_)
            throw Error(-DER_NONEXIST, path() + " is missing: its stream is being removed, or damaged");
    }
    void open_copy()
    {
        if (const int error = make_directories(place_.parent()); error != 0)
            throw system_error(error, place_.parent(), "cannot make the directory");
        file_ = steps::File::open_to_write(place_);
        // One with another name somewhere is nobody's copy: who may write in the pool put it there.
        if (!file_ || file_->names() != 1) file_ = steps::File::create(place_);
    }

    RootedPath place_;
    std::optional<steps::File> file_;
};

using LeaseHandle = Closable<Lease>;

void bind_lease(nb::module_& module)
{
    nb::class_<Lease::Seen>(module, "SeenLease", "The record of a lease (src/client/lease.h).")
        .def_prop_ro(
            "note", [](const Lease::Seen& self) { return to_python(self.record.note); },
            "What its holder said of its work; empty if the record is damaged.")
        .def_prop_ro(
            "process", [](const Lease::Seen& self) { return self.record.holder.process; }, "Its number.")
        .def_prop_ro(
            "free", [](const Lease::Seen& self) { return self.state == LeaseState::free; },
            "Its holder gave it back, or is dead.");
    nb::class_<LeaseHandle>(module, "Lease", "The right to write a named thing (src/client/lease.h).")
        .def(
            "__init__",
            [](LeaseHandle* self, ContainerHandle& container, const ObjectId& object, const std::string& key,
               bool remove_at_end) {
                new (self) LeaseHandle(
                    Lease(container.get().key_value(object), key, Lease::never,
                          remove_at_end ? Lease::AtEnd::remove_record : Lease::AtEnd::keep_record));
            },
            nb::arg("container"), nb::arg("object"), nb::arg("key"), nb::arg("remove_at_end") = false)
        .def(
            "look", [](LeaseHandle& self) { return self.use([](Lease& it) { return it.look(); }); },
            "None: there is no record.")
        .def(
            "take", [](LeaseHandle& self) { return self.use([](Lease& it) { return it.take(); }); },
            "None: this process holds it now. Otherwise who does.")
        .def(
            "take_as_seen",
            [](LeaseHandle& self, const nb::bytes& note) {
                return self.use([&](Lease& it) { return it.take_as_seen(bytes_of(note)); });
            },
            nb::arg("note"), "From anybody who had it at the last look. False: it has changed since.")
        .def(
            "say",
            [](LeaseHandle& self, const nb::bytes& note) {
                return self.use([&](Lease& it) { return it.say(bytes_of(note)); });
            },
            nb::arg("note"), "False: it was taken over, and nothing was changed.")
        .def(
            "still_held",
            [](LeaseHandle& self) { return self.use([](Lease& it) { return it.still_held(); }); },
            "Asks the store.")
        .def(
            "remove", [](LeaseHandle& self) { return self.use([](Lease& it) { return it.remove(); }); },
            "Gives it back, and leaves no record. False: it was taken over.")
        .def("close", &LeaseHandle::close, "Gives it back.");
    module.def(
        "decode_lease",
        [](const nb::bytes& record) {
            Lease::Seen seen{decode_lease(bytes_of(record)), {}};
            seen.state = state_of(seen.record);
            return seen;
        },
        nb::arg("record"));
}

} // namespace

void bind_copying(nb::module_& module)
{
    bind_lease(module);
    nb::class_<StreamFile>(module, "StreamFile", "A file of a stream with the layout posix.")
        .def(nb::init<const std::string&, const std::string&, const std::string&, bool>(), nb::arg("pool"),
             nb::arg("directory"), nb::arg("name"), nb::arg("make") = false)
        .def_prop_ro("path", &StreamFile::path)
        .def("size", &StreamFile::size)
        .def("read", &StreamFile::read, nb::arg("at"), nb::arg("most"))
        .def("write", &StreamFile::write, nb::arg("at"), nb::arg("data"))
        .def("sync", &StreamFile::sync)
        .def("remove", &StreamFile::remove)
        .def("close", &StreamFile::close);
    module.def(
        "stream_files",
        [](const std::string& pool, const std::string& directory) {
            return unlocked([&] { return steps::data_files_in(steps::stream_directory(pool, directory)); });
        },
        nb::arg("pool"), nb::arg("directory"), "The names of a segment's files, sorted.");
    module.def("stream_record", &stream_record, nb::arg("record"), nb::arg("where"));
    module.def("moved_record", &moved_record, nb::arg("record"), nb::arg("container"), nb::arg("firsts"),
               nb::arg("steps"),
               "The record of an ended stream whose segments' objects have these first numbers there.");
    module.def("step_snapshot", &step_snapshot, nb::arg("value"), nb::arg("step"), "Its epoch; is it gone?");
    module.def(
        "encode_step_snapshot",
        [](std::uint64_t step, std::uint64_t epoch, bool gone) {
            return to_python(steps::encode_snapshot(step, {epoch, gone}));
        },
        nb::arg("step"), nb::arg("epoch"), nb::arg("gone"));
    module.def(
        "dataset_options",
        [](const nb::bytes& record) {
            const auto dataset = fields::decode_dataset(bytes_of(record), "the dataset to copy");
            nb::dict told;
            told["chunk_size"] = dataset.options.chunk_size;
            told["data_class"] = to_text(dataset.options.data_class);
            told["index_class"] = to_text(dataset.options.index_class);
            return told;
        },
        nb::arg("record"));
    module.def(
        "dataset_container",
        [](const nb::bytes& entry) { return to_text(fields::decode_root(bytes_of(entry), "the root")); },
        nb::arg("entry"));
    module.def(
        "encode_dataset_container",
        [](const std::string& label) { return to_python(fields::encode_root(label)); }, nb::arg("label"));
    module.def("array_header", &array_header, nb::arg("header"));
    module.def(
        "array_head",
        [](ContainerHandle& container, const std::string& name) {
            return arrays::head_id(container.get(), name);
        },
        nb::arg("container"), nb::arg("name"), "The id of the key-value object of an array with this name.");
}

} // namespace stepstore::python

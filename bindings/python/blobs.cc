// Blobs for Python, one to one with src/blobs. Keys are bytes; the package knows texts.
// Threads: they may share all. Calls of several on one writer wait for each other. Errors: those of Blobs.
#include "common.h"

#include "blobs/blobs.h"

#include <mutex>

namespace stepstore::python {

namespace {

using blobs::Appender;
using blobs::Blobs;
using blobs::Found;
using blobs::Put;
using blobs::Reader;
using blobs::Version;
using blobs::Writer;
// Their ends may write, and so wait.
using BlobsHandle = Closable<Blobs>;
using ReaderHandle = Closable<Reader>;

Version version_of(const nb::bytes& version)
{
    const auto* first = reinterpret_cast<const std::byte*>(version.c_str());
    return {first, first + version.size()};
}

nb::object bytes_of(const Version& version)
{
    return nb::bytes(version.data(), version.size());
}

// Runs `read`, which asks for memory, without the interpreter's lock. The bytes that it has filled.
template <class T, class Read>
std::pair<Found, nb::object> filled(Closable<T>& self, Read&& read)
{
    const std::shared_ptr<T> held = self.hold();
    std::optional<NewBytes> value;
    const Found found = unlocked([&](Unlocked& away) {
        return read(*held, [&](std::size_t size) {
            MutableBytes memory;
            away.locked([&] { memory = value.emplace(size).memory(); });
            return memory;
        });
    });
    if (found != Found::yes) return {found, nb::none()};
    return {found, value->first(value->memory().size())};
}

// None: there is no such blob. False: it is too large.
nb::object read(BlobsHandle& self, const nb::bytes& key, std::int64_t start, std::optional<std::int64_t> stop,
                std::optional<std::uint64_t> most)
{
    const std::string name = key_of(key);
    constexpr std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
    auto [found, value] = filled(self, [&](const Blobs& it, blobs::Room room) {
        return it.read(name, {start, stop}, room, most.value_or(all));
    });
    return found == Found::large ? nb::object(nb::bool_(false)) : value;
}

nb::object info(BlobsHandle& self, const nb::bytes& key)
{
    const auto found = self.use([name = key_of(key)](Blobs& it) { return it.info(name); });
    if (!found) return nb::none();
    return nb::make_tuple(found->size, found->modified, found->number);
}

nb::object copy(BlobsHandle& self, const nb::bytes& key, BlobsHandle& into, const nb::bytes& target)
{
    const auto version = self.use([name = key_of(key), to = into.hold(), target = key_of(target)](Blobs& it) {
        return it.copy(name, *to, target);
    });
    return version ? bytes_of(*version) : nb::none();
}

std::optional<ReaderHandle> reader(BlobsHandle& self, const nb::bytes& key)
{
    auto found = self.use([name = key_of(key)](Blobs& it) { return it.reader(name); });
    if (!found) return std::nullopt;
    return ReaderHandle(std::move(*found));
}

// Of a call on one key.
template <auto member>
auto of_key()
{
    return [](BlobsHandle& self, const nb::bytes& key) {
        return self.use([name = key_of(key)](Blobs& it) { return (it.*member)(name); });
    };
}
template <auto member>
auto of_folder()
{
    return [](BlobsHandle& self, const nb::bytes& folder) {
        return to_list(self.use([name = key_of(folder)](Blobs& it) { return (it.*member)(name); }));
    };
}
template <auto member>
auto of_none()
{
    return [](BlobsHandle& self) { return self.use([](Blobs& it) { return (it.*member)(); }); };
}

// A Writer or an Appender, which is one thread's at a time: calls of several Python threads wait for each
// other here.
template <class T>
class StreamHandle {
public:
    explicit StreamHandle(T stream) : open_(std::make_shared<Open>(std::move(stream))) {}
    StreamHandle(StreamHandle&&) noexcept = default;
    ~StreamHandle()
    {
        if (open_.mine()) unlocked_at_end([&] { open_ = {}; });
    }

    template <class Body>
    auto use(Body&& body)
    {
        return unlocked([&] {
            Open& open = *open_;
            const std::lock_guard lock(open.mutex);
            return body(open.stream);
        });
    }
    void discard()
    {
        if (open_.mine()) use([](T& it) { it.discard(); }); // else the parent's
    }

private:
    struct Open {
        explicit Open(T given) : stream(std::move(given)) {}
        std::mutex mutex; // of OwnState::blob_writer: guards stream
        T stream;
    };
    OfProcess<OwnState::blob_writer, Open> open_;
};

template <class T>
void bind_stream(nb::class_<StreamHandle<T>>& stream)
{
    using Handle = StreamHandle<T>;
    stream
        .def("write",
             [](Handle& self, nb::handle piece) {
                 const Buffer memory(piece, false);
                 self.use([&](T& it) { it.write(memory.bytes()); });
             })
        .def("close", [](Handle& self) { return self.use([](T& it) { return it.close(); }); })
        .def("discard", &Handle::discard)
        .def_prop_ro("size", [](Handle& self) { return self.use([](T& it) { return it.size(); }); })
        .def_prop_ro("closed", [](Handle& self) { return self.use([](T& it) { return it.is_closed(); }); });
}

} // namespace

void bind_blobs(nb::module_& module)
{
    nb::class_<ReaderHandle>(module, "BlobReader")
        .def_prop_ro("size", [](ReaderHandle& self) { return self.get().size(); })
        .def_prop_ro("version", [](ReaderHandle& self) { return bytes_of(self.get().version()); })
        .def("is_current",
             [](ReaderHandle& self) { return self.use([](Reader& it) { return it.is_current(); }); })
        .def(
            "read",
            [](ReaderHandle& self, std::int64_t start, std::optional<std::int64_t> stop) {
                return filled(self,
                              [&](const Reader& it, blobs::Room room) {
                                  it.read({start, stop}, room);
                                  return Found::yes;
                              })
                    .second;
            },
            nb::arg("start") = 0, nb::arg("stop") = nb::none());

    nb::class_<StreamHandle<Writer>> writer(module, "BlobWriter");
    bind_stream(writer);
    nb::class_<StreamHandle<Appender>> appender(module, "BlobAppender");
    bind_stream(appender);

    nb::class_<BlobsHandle>(module, "Blobs")
        .def(
            "__init__",
            [](BlobsHandle* self, ContainerHandle& container, const std::string& pool, bool read_only) {
                const Access access = read_only ? Access::read_only : Access::read_write;
                new (self) BlobsHandle(Blobs(container.hold(), pool, access));
            },
            nb::arg("container"), nb::arg("pool"), nb::arg("read_only"))
        .def("read", &read, nb::arg("key"), nb::arg("start") = 0, nb::arg("stop") = nb::none(),
             nb::arg("most") = nb::none(), "None: there is no such blob. False: it has `most` bytes or more.")
        .def("info", &info, nb::arg("key"), "(size, modified, number of the array object) or None.")
        .def("exists", of_key<&Blobs::exists>(), nb::arg("key"))
        .def("reader", &reader, nb::arg("key"))
        .def(
            "writer",
            [](BlobsHandle& self, const nb::bytes& key, bool only_new) {
                return self.use([&, name = key_of(key)](Blobs& it) {
                    return StreamHandle<Writer>(Writer(it, name, only_new ? Put::only_new : Put::replace));
                });
            },
            nb::arg("key"), nb::arg("new") = false)
        .def(
            "appender",
            [](BlobsHandle& self, const nb::bytes& key) {
                return self.use(
                    [name = key_of(key)](Blobs& it) { return StreamHandle<Appender>(Appender(it, name)); });
            },
            nb::arg("key"))
        .def("keys", of_folder<&Blobs::keys>(), nb::arg("prefix"))
        .def("children", of_folder<&Blobs::children>(), nb::arg("folder"))
        .def("is_folder", of_key<&Blobs::is_folder>(), nb::arg("folder"))
        .def("is_hidden", of_none<&Blobs::is_hidden>())
        .def(
            "write",
            [](BlobsHandle& self, const nb::bytes& key, nb::handle value, bool only_new) {
                const Buffer memory(value, false);
                return self.use([&, name = key_of(key)](Blobs& it) {
                    return it.write(name, memory.bytes(), only_new ? Put::only_new : Put::replace);
                });
            },
            nb::arg("key"), nb::arg("value"), nb::arg("new"))
        .def("touch", of_key<&Blobs::touch>(), nb::arg("key"))
        .def(
            "remove",
            [](BlobsHandle& self, const nb::bytes& key, const std::optional<nb::bytes>& version) {
                const auto which = version ? std::optional(version_of(*version)) : std::nullopt;
                return self.use([&, name = key_of(key)](Blobs& it) {
                    return which ? it.remove(name, *which) : it.remove(name);
                });
            },
            nb::arg("key"), nb::arg("version") = nb::none())
        .def("copy", &copy, nb::arg("key"), nb::arg("into"), nb::arg("target"))
        .def("make_folder", of_key<&Blobs::make_folder>(), nb::arg("folder"))
        .def("remove_folder", of_key<&Blobs::remove_folder>(), nb::arg("folder"))
        .def("hide", of_none<&Blobs::hide>())
        .def("show", of_none<&Blobs::show>())
        .def("take_back", of_none<&Blobs::take_back>())
        .def("leave", of_none<&Blobs::leave>());
}

} // namespace stepstore::python

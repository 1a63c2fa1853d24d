// What a location says, and what lies there, for Python: src/location is the one grammar.
#include "common.h"

#include "location/find/location.h"

#include <filesystem>

namespace stepstore::python {

void bind_locations(nb::module_& module)
{
    nb::class_<Capabilities>(module, "Capabilities")
        .def_ro("own_store", &Capabilities::own_store)
        .def_ro("directory", &Capabilities::directory)
        .def_ro("versions", &Capabilities::versions)
        .def_ro("one_machine", &Capabilities::one_machine)
        .def_ro("network", &Capabilities::network)
        .def_ro("keeps_copies", &Capabilities::keeps_copies)
        .def_ro("watches", &Capabilities::watches)
        .def_ro("verifies_keys", &Capabilities::verifies_keys);
    nb::class_<LocationParts>(module, "LocationParts")
        .def_prop_ro("scheme", [](const LocationParts& self) { return to_text(self.form.scheme); })
        .def_prop_ro("is_path", [](const LocationParts& self) { return self.is_path(); })
        .def_prop_ro("names",
                     [](const LocationParts& self) {
                         nb::list names;
                         for (const std::string& name : self.names)
                             names.append(to_text(name));
                         return names;
                     })
        .def_prop_ro("pool", [](const LocationParts& self) { return to_text(self.pool); })
        .def_prop_ro("rest", [](const LocationParts& self) { return to_text(self.rest); })
        .def_prop_ro("path", [](const LocationParts& self) { return to_text(self.path); })
        .def_prop_ro("after_local", [](const LocationParts& self) { return self.after_local; })
        .def_prop_ro("label", [](const LocationParts& self) { return to_text(self.label); });
    module.def(
        "parse_location", [](const std::string& text) { return parse_location(text); }, nb::arg("text"));
    module.def(
        "parse_names",
        [](const std::string& rest, const std::string& location) {
            const ContainerAndStream names = parse_names(rest, location);
            return nb::make_tuple(to_text(names.container_given ? names.container : ""),
                                  to_text(names.stream_given ? names.stream : ""));
        },
        nb::arg("rest"), nb::arg("location"));
    module.def(
        "parse_object",
        [](const std::string& rest) -> nb::object {
            const std::optional<ObjectPart> object = parse_object(rest);
            if (!object) return nb::none();
            return nb::make_tuple(object->hi, object->lo,
                                  object->key ? nb::object(to_text(*object->key)) : nb::none());
        },
        nb::arg("rest"));
    module.def(
        "absolute_location",
        [](const std::string& text) {
            const LocationParts parts = parse_location(text);
            // Only of a relative path: the working directory may be gone.
            const bool relative = parts.is_path() && parts.label.empty() && parts.path[0] != '/';
            const std::string found =
                absolute_location(text, relative ? std::filesystem::current_path().string() : "");
            return nb::steal(
                PyUnicode_DecodeFSDefaultAndSize(found.data(), static_cast<Py_ssize_t>(found.size())));
        },
        nb::arg("text"));
    module.def(
        "capabilities", [](const std::string& text) { return capabilities_of(text); }, nb::arg("text"));
    module.def(
        "find_pool",
        [](const std::string& text) {
            std::string rest;
            const FoundPool found = unlocked([&] { return find_pool(text, rest); });
            return nb::make_tuple(to_text(found.pool), to_text(rest), found.pool_exists);
        },
        nb::arg("text"));
    module.def(
        "resolve_location",
        [](const std::string& text) {
            const Location found = unlocked([&] { return resolve_location(text); });
            return nb::make_tuple(found.pool, found.container, found.stream, found.pool_exists);
        },
        nb::arg("text"));
    module.def(
        "split_location",
        [](const std::string& text) {
            const Location found = unlocked([&] { return resolve_location(text); });
            return nb::make_tuple(found.pool, found.container_given ? found.container : "",
                                  found.stream_given ? found.stream : "", found.pool_exists);
        },
        nb::arg("text"));
}

} // namespace stepstore::python

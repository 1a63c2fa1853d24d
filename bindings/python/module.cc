// stepstore._core: the C++ client and the steps reader for Python. The package stepstore puts the pleasant
// names on top.
#include "common.h"

#include "client/in_doubt.h"

#include <Python.h>

namespace {

namespace nb = nanobind;

// stepstore.Error: made here so that errors raised in C++ and in Python are one type.
PyObject* error_type = nullptr;

} // namespace

nb::object stepstore::python::error_object(const Error& error)
{
    nb::object made = nb::steal(stays_when_ended(
        [&] { return PyObject_CallFunction(error_type, "is", error.code(), error.what()); }));
    if (!made.is_valid()) throw nb::python_error();
    return made;
}

NB_MODULE(_core, module)
{
    module.doc() = "Stepstore's C++ client for Python. Import stepstore instead.";
    module.attr("__version__") = STEPSTORE_VERSION;
    // Python defines the exception class (it has properties and a text of its own), and hands it over once.
    module.def("set_error_type", [](nb::object type) { error_type = type.release().ptr(); });
    module.def(
        "printable", [](const nb::bytes& text) { return stepstore::printable({text.c_str(), text.size()}); },
        nb::arg("text"));
    stepstore::ask_in_waits(&stepstore::python::Unlocked::asked_to_stop); // of the rooms in this module
    stepstore::ask_in_waits_of_calls([] { return stepstore::python::Unlocked::asked_to_stop() ? 1 : 0; });
    module.def("end_all_waits", &stepstore::python::Unlocked::end_all_waits, nb::arg("end"),
               "True: waits of calls in all threads end with DER_CANCELED from now on. False: no more.");
    // Threads that are left when the interpreter ends (daemon threads) keep what they use. That is no leak.
    // The stable interface does not show threads: a wheel for many Pythons does not look for leaks.
    module.def("look_for_threads_at_exit", [] {
#ifdef Py_LIMITED_API
        nb::set_leak_warnings(false);
#else
        PyThreadState* const one = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
        if (PyThreadState_Next(one) != nullptr) nb::set_leak_warnings(false);
#endif
    });
    nb::module_::import_("atexit").attr("register")(module.attr("look_for_threads_at_exit"));
    module.def("error_name", [](int code) { return std::string(d_errstr(code)); });
    module.def("is_in_doubt", [](int code) { return stepstore::is_in_doubt(stepstore::Error(code, "")); });
    nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const stepstore::Error& error) {
            try {
                PyErr_SetObject(error_type, stepstore::python::error_object(error).ptr());
            } catch (nb::python_error& raised) { // by the handler of a signal, which came meanwhile
                raised.restore();
            }
        }
    });
    stepstore::python::bind_locations(module);
    stepstore::python::bind_store(module);
    stepstore::python::bind_file_systems(module);
    stepstore::python::bind_files(module);
    stepstore::python::bind_user_attributes(module);
    stepstore::python::bind_admin(module);
    stepstore::python::bind_steps(module);
    stepstore::python::bind_writer(module);
    stepstore::python::bind_arrays(module);
    stepstore::python::bind_copying(module);
    stepstore::python::bind_blobs(module);
}

// Shared by the files of the extension: how bytes, keys, handles and errors cross between Python and C++.
#pragma once

#include "stepstore/administration.h"
#include "stepstore/client.h"

#include <daos_errno.h>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace stepstore::python {

namespace nb = nanobind;

void bind_store(nb::module_& module);
void bind_admin(nb::module_& module);
void bind_steps(nb::module_& module);

// The memory of any object with the buffer protocol (bytes, bytearray, memoryview, a contiguous numpy array),
// held while this lives.
class Buffer {
public:
    Buffer(nb::handle object, bool writable)
    {
        const int flags = writable ? PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS : PyBUF_C_CONTIGUOUS;
        if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nb::python_error();
    }
    ~Buffer() { PyBuffer_Release(&view_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    Bytes bytes() const
    {
        return {static_cast<const std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
    }
    MutableBytes writable() const
    {
        return {static_cast<std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
    }

private:
    Py_buffer view_{};
};

inline std::string_view text_of(const nb::bytes& key)
{
    return {key.c_str(), key.size()};
}

// A text that may hold any bytes, such as a path: what is no UTF-8 is replaced.
inline nb::object to_text(std::string_view text)
{
    return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

// Runs `body` without the interpreter's lock: for everything that may touch the store.
template <class Body>
decltype(auto) unlocked(Body&& body)
{
    nb::gil_scoped_release release;
    return std::forward<Body>(body)();
}

// A C++ handle that Python may close before it forgets it. A call in another thread keeps it alive until it
// returns.
template <class T>
class Closable {
public:
    explicit Closable(T handle) : handle_(std::make_shared<T>(std::move(handle))) {}

    // For what is answered from memory.
    T& get()
    {
        if (!handle_) throw Error(-DER_NO_HDL, "this handle is closed: open the object again");
        return *handle_;
    }
    // Runs `body` on the handle without the interpreter's lock.
    template <class Body>
    auto use(Body&& body)
    {
        get();
        const std::shared_ptr<T> held = handle_;
        return unlocked([&] { return body(*held); });
    }
    void close()
    {
        std::shared_ptr<T> last = std::move(handle_);
        unlocked([&] { last.reset(); });
    }
    bool closed() const { return !handle_; }

private:
    std::shared_ptr<T> handle_;
};

nb::dict to_dict(const Finding& finding);

} // namespace stepstore::python

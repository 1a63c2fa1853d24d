// Shared by the files of the extension: how bytes, keys, handles and errors cross between Python and C++.
// Threads: with the interpreter's lock, which Closable::use() lets go of meanwhile. Errors: a
// stepstore::Error becomes a stepstore.Error; what Python raises passes through as nb::python_error.
#pragma once

#include "interpreter.h"

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

void bind_locations(nb::module_& module);
void bind_store(nb::module_& module);
void bind_file_systems(nb::module_& module);
void bind_files(nb::module_& module);
void bind_user_attributes(nb::module_& module);
void bind_objects(nb::module_& module);
void bind_completions(nb::module_& module);
void bind_admin(nb::module_& module);
void bind_steps(nb::module_& module);
void bind_writer(nb::module_& module);
void bind_arrays(nb::module_& module);
void bind_copying(nb::module_& module);
void bind_blobs(nb::module_& module);

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

inline Bytes bytes_of(const nb::bytes& value)
{
    return {reinterpret_cast<const std::byte*>(value.c_str()), value.size()};
}

inline std::string key_of(const nb::bytes& key)
{
    return std::string(text_of(key));
}

// A text that may hold any bytes, such as a path: what is no UTF-8 is replaced.
inline nb::object to_text(std::string_view text)
{
    return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

inline nb::bytes to_bytes(std::string_view text)
{
    return nb::bytes(text.data(), text.size());
}

inline nb::list to_list(const std::vector<std::string>& texts)
{
    nb::list result;
    for (const std::string& text : texts)
        result.append(to_bytes(text));
    return result;
}

// Bytes that are filled before Python sees them, so that a large value is not copied once more.
class NewBytes {
public:
    explicit NewBytes(std::size_t size)
        : object_(nb::steal<nb::object>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)))),
          size_(size)
    {
        if (!object_.is_valid()) throw nb::python_error();
    }
    MutableBytes memory() const
    {
        return {reinterpret_cast<std::byte*>(PyBytes_AsString(object_.ptr())), size_};
    }
    nb::object first(std::size_t size)
    {
        if (size == size_) return std::move(object_);
        return nb::bytes(memory().data(), size);
    }

private:
    nb::object object_;
    std::size_t size_;
};

// A C++ handle that Python may close before it forgets it. A call in another thread keeps it alive until it
// returns.
template <class T>
class Closable {
public:
    explicit Closable(T handle) : handle_(std::make_shared<T>(std::move(handle))) {}
    Closable(Closable&&) noexcept = default;
    Closable& operator=(Closable&&) noexcept = default;
    ~Closable()
    {
        if (handle_) unlocked_at_end([&] { handle_.reset(); }); // a moved-from one has nothing to close
    }

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
        const std::shared_ptr<T> held = hold();
        return unlocked([&] { return body(*held); });
    }
    // Stays open while this lives.
    std::shared_ptr<T> hold()
    {
        get();
        return handle_;
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

using PoolHandle = Closable<Pool>;
using ContainerHandle = Closable<Container>;
using KeyValueHandle = Closable<KeyValue>;
using ArrayHandle = Closable<Array>;

void bind_akeys(nb::module_& module, nb::class_<ContainerHandle>& container);

// "none", "must_not_exist" or "must_exist"; else -DER_INVAL.
Condition condition_of(const std::string& name);

// The stepstore.Error of this one.
nb::object error_object(const Error& error);

nb::dict to_dict(const Finding& finding);

} // namespace stepstore::python

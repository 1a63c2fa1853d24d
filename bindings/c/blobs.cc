// The C interface of blobs. No call lets an exception out.
#include "stepstore/blobs.h"

#include "blobs/blobs.h"
#include "calls.h"

#include <algorithm>
#include <variant>

namespace stepstore {
namespace {

using blobs::Appender;
using blobs::Blobs;
using blobs::Found;
using blobs::Put;
using blobs::Reader;
using blobs::Slice;
using blobs::Writer;

struct OpenWriter {
    std::variant<Writer, Appender> stream;
    std::string name; // for messages
};

Cookies<Blobs> locations(4, "an open location of blobs");
Cookies<Reader> readers(5, "a reader of a blob");
Cookies<OpenWriter> writers(6, "a writer of a blob");

std::string name_of(const char* name)
{
    require(name, "the name");
    return name;
}

std::string text_of(const char* text)
{
    return text == nullptr ? "" : text;
}

Bytes data_of(const void* data, uint64_t size)
{
    if (size > 0) require(data, "the address of the data");
    return {static_cast<const std::byte*>(data), static_cast<std::size_t>(size)};
}

Put put_of(int how)
{
    if (how != STEPSTORE_BLOB_REPLACE && how != STEPSTORE_BLOB_NEW)
        throw Error(-DER_INVAL, "how is " + std::to_string(how) +
                                    ": use STEPSTORE_BLOB_REPLACE, STEPSTORE_BLOB_NEW or "
                                    "STEPSTORE_BLOB_APPEND");
    return how == STEPSTORE_BLOB_NEW ? Put::only_new : Put::replace;
}

[[noreturn]] void no_blob(const std::string& blob)
{
    throw Error(-DER_NONEXIST, "there is no " + blob);
}

void require_written(bool written, const std::string& blob)
{
    if (!written) throw Error(-DER_EXIST, "there is a " + blob + " already: nothing was written");
}

// `read` reads a slice into memory that it asks for.
template <class Read>
void get(uint64_t start, void* into, uint64_t* size, Read&& read)
{
    require(size, "size");
    if (*size > 0) require(into, "the address of the memory");
    const auto largest = static_cast<uint64_t>(INT64_MAX);
    const uint64_t first = std::min(start, largest);
    const uint64_t end = first + std::min(*size, largest - first);
    uint64_t done = 0;
    read(Slice{static_cast<int64_t>(first), static_cast<int64_t>(end)}, [&](std::size_t bytes) {
        done = bytes;
        return MutableBytes(static_cast<std::byte*>(into), bytes);
    });
    *size = done;
}

} // namespace
} // namespace stepstore

using namespace stepstore;

extern "C" {

int stepstore_blobs_open(const char* location, int mode, uint64_t snapshot, stepstore_blobs* blobs)
{
    return shielded([&] {
        require(blobs, "blobs");
        *blobs = 0;
        require(location, "the location");
        if (mode != STEPSTORE_READ && mode != STEPSTORE_WRITE)
            throw Error(-DER_INVAL,
                        "the mode is " + std::to_string(mode) + ": use STEPSTORE_READ or STEPSTORE_WRITE");
        const Access access = mode == STEPSTORE_WRITE ? Access::read_write : Access::read_only;
        *blobs = locations.insert(std::make_shared<Blobs>(Blobs::open(location, access, snapshot)));
    });
}

int stepstore_blobs_close(stepstore_blobs* blobs)
{
    return shielded([&] {
        require(blobs, "blobs");
        locations.take(*blobs);
        *blobs = 0;
    });
}

const char* stepstore_blobs_message(void)
{
    return last_message.c_str();
}

int stepstore_blob_put(stepstore_blobs blobs, const char* name, const void* data, uint64_t size, int how)
{
    return shielded([&] {
        const auto open = locations.get(blobs);
        const std::string key = name_of(name);
        if (how == STEPSTORE_BLOB_APPEND) return open->append(key, data_of(data, size));
        require_written(open->write(key, data_of(data, size), put_of(how)), open->name_of(key));
    });
}

int stepstore_blob_get(stepstore_blobs blobs, const char* name, uint64_t start, void* into, uint64_t* size)
{
    return shielded([&] {
        const auto open = locations.get(blobs);
        const std::string key = name_of(name);
        get(start, into, size, [&](Slice slice, blobs::Room room) {
            if (open->read(key, slice, room) == Found::no) no_blob(open->name_of(key));
        });
    });
}

int stepstore_blob_stat(stepstore_blobs blobs, const char* name, struct stepstore_blob_info* info)
{
    return shielded([&] {
        require(info, "info");
        const auto open = locations.get(blobs);
        const auto found = open->info(name_of(name));
        if (!found) no_blob(open->name_of(name));
        *info = {found->size, found->modified};
    });
}

int stepstore_blob_remove(stepstore_blobs blobs, const char* name)
{
    return shielded([&] {
        const auto open = locations.get(blobs);
        if (!open->remove(name_of(name))) no_blob(open->name_of(name));
    });
}

int stepstore_blob_copy(stepstore_blobs blobs, const char* name, stepstore_blobs into, const char* target)
{
    return shielded([&] {
        const auto open = locations.get(blobs);
        const auto to = locations.get(into);
        if (!open->copy(name_of(name), *to, name_of(target))) no_blob(open->name_of(name));
    });
}

int stepstore_blob_rename(stepstore_blobs blobs, const char* name, const char* target)
{
    return shielded([&] {
        const auto open = locations.get(blobs);
        if (!open->rename(name_of(name), name_of(target))) no_blob(open->name_of(name));
    });
}

int stepstore_blob_list(stepstore_blobs blobs, const char* prefix, stepstore_names* names)
{
    return shielded([&] {
        require(names, "names");
        *names = names_handle(locations.get(blobs)->keys(text_of(prefix)));
    });
}

int stepstore_blob_list_folder(stepstore_blobs blobs, const char* folder, stepstore_names* names)
{
    return shielded([&] {
        require(names, "names");
        *names = names_handle(locations.get(blobs)->children(text_of(folder)));
    });
}

int stepstore_blob_reader_open(stepstore_blobs blobs, const char* name, stepstore_blob_reader* reader,
                               uint64_t* size)
{
    return shielded([&] {
        require(reader, "reader");
        *reader = 0;
        const auto open = locations.get(blobs);
        auto found = open->reader(name_of(name));
        if (!found) no_blob(open->name_of(name));
        if (size != nullptr) *size = found->size();
        *reader = readers.insert(std::make_shared<Reader>(std::move(*found)));
    });
}

int stepstore_blob_reader_get(stepstore_blob_reader reader, uint64_t start, void* into, uint64_t* size)
{
    return shielded([&] {
        const auto open = readers.get(reader);
        get(start, into, size, [&](Slice slice, blobs::Room room) { open->read(slice, room); });
    });
}

int stepstore_blob_reader_close(stepstore_blob_reader* reader)
{
    return shielded([&] {
        require(reader, "reader");
        readers.take(*reader);
        *reader = 0;
    });
}

int stepstore_blob_writer_open(stepstore_blobs blobs, const char* name, int how,
                               stepstore_blob_writer* writer)
{
    return shielded([&] {
        require(writer, "writer");
        *writer = 0;
        const auto open = locations.get(blobs);
        const std::string key = name_of(name);
        if (how == STEPSTORE_BLOB_APPEND)
            *writer = writers.insert(
                std::make_shared<OpenWriter>(OpenWriter{Appender(*open, key), open->name_of(key)}));
        else
            *writer = writers.insert(std::make_shared<OpenWriter>(
                OpenWriter{Writer(*open, key, put_of(how)), open->name_of(key)}));
    });
}

int stepstore_blob_writer_put(stepstore_blob_writer writer, const void* data, uint64_t size)
{
    return shielded([&] {
        std::visit([&](auto& stream) { stream.write(data_of(data, size)); }, writers.get(writer)->stream);
    });
}

int stepstore_blob_writer_close(stepstore_blob_writer* writer)
{
    return shielded([&] {
        require(writer, "writer");
        const auto open = writers.take(*writer);
        *writer = 0;
        if (auto* const appender = std::get_if<Appender>(&open->stream)) return appender->close();
        require_written(std::get<Writer>(open->stream).close(), open->name);
    });
}

int stepstore_blob_writer_discard(stepstore_blob_writer* writer)
{
    return shielded([&] {
        require(writer, "writer");
        const auto open = writers.take(*writer);
        *writer = 0;
        std::visit([](auto& stream) { stream.discard(); }, open->stream);
    });
}

} // extern "C"

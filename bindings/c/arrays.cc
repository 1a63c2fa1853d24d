// The C interface of arrays. No call lets an exception out.
#include "stepstore/arrays.h"

#include "arrays/arrays.h"
#include "calls.h"

#include <daos_errno.h>

#include <algorithm>
#include <cstring>
#include <functional>

namespace stepstore {
namespace {

using arrays::ElementType;
using arrays::Kind;
using arrays::Numbers;
using arrays::Store;

struct NamesList {
    std::vector<std::string> names;
};
struct PendingRequest {
    std::shared_ptr<Store> store; // stays open until the request has ended
    arrays::Request request;
};

Cookies<Store> stores(1, "an open location of arrays");
Cookies<PendingRequest> requests(2, "a request");
Cookies<NamesList> lists(3, "a list of names");

// What is wrong with this rank's arguments, for the others as well.
template <class Check>
std::exception_ptr fault_of(Check&& check)
{
    try {
        check();
    } catch (...) {
        return std::current_exception();
    }
    return nullptr;
}

ElementType element_type(stepstore_type type)
{
    const stepstore_type length = type >> 8;
    const auto kind = static_cast<Kind>(type & 0xff);
    if (type <= 0 || length > INT32_MAX)
        throw Error(-DER_INVAL, std::to_string(type) + " is no element type: use one of stepstore/arrays.h");
    return {kind, length == 0 ? 1 : static_cast<std::uint32_t>(length)};
}

stepstore_type c_type(const ElementType& type)
{
    const auto kind = static_cast<stepstore_type>(type.kind);
    return type.kind == Kind::character ? STEPSTORE_CHARACTER_OF(type.length) | kind : kind;
}

Numbers numbers(const int64_t* given, int count, const char* what)
{
    require(given, what);
    return {given, given + count};
}

void check_dimensions(int dimensions)
{
    if (dimensions < 1 || dimensions > STEPSTORE_MAX_DIMENSIONS)
        throw Error(-DER_INVAL, "ndim is " + std::to_string(dimensions) + ": an array has 1 to " +
                                    std::to_string(STEPSTORE_MAX_DIMENSIONS) + " dimensions");
}

arrays::DataLayout layout(const stepstore_array_options* options)
{
    arrays::DataLayout layout;
    if (options == nullptr) return layout;
    if (options->object_class != nullptr) layout.object_class = options->object_class;
    if (options->chunk_size != 0) layout.chunk_size = options->chunk_size;
    if (options->checksum > 1) throw Error(-DER_INVAL, "checksum is neither 0 nor 1");
    layout.checksum = options->checksum != 0;
    if (options->reserved_flags != 0 || std::ranges::any_of(options->reserved, [](auto n) { return n != 0; }))
        throw Error(-DER_INVAL, "a reserved field of the options is not 0: set them all to 0");
    return layout;
}

arrays::OpenOptions open_options(const stepstore_open_options* given)
{
    arrays::OpenOptions options;
    if (given == nullptr) return options;
    if (given->order > STEPSTORE_COLUMN_MAJOR)
        throw Error(-DER_INVAL, "order is " + std::to_string(given->order) +
                                    ": use STEPSTORE_ROW_MAJOR or STEPSTORE_COLUMN_MAJOR");
    if (given->power > 1 || given->unverified > 1)
        throw Error(-DER_INVAL, "the options power and unverified are 0 or 1");
    if (std::ranges::any_of(given->reserved, [](auto n) { return n != 0; }))
        throw Error(-DER_INVAL, "a reserved field of the options is not 0: set them all to 0");
    if (given->order == STEPSTORE_COLUMN_MAJOR) options.order = arrays::Order::column_major;
    options.targets = given->targets;
    if (given->power != 0) options.durability = Durability::power;
    if (given->unverified != 0) options.verify = Verify::no;
    if (given->transfer_size != 0) options.transfer_size = given->transfer_size;
    options.snapshot = given->snapshot;
    if (given->timeout_seconds != 0) options.timeout_seconds = given->timeout_seconds;
    return options;
}

arrays::Mode mode_of(int mode)
{
    if (mode != STEPSTORE_READ && mode != STEPSTORE_WRITE)
        throw Error(-DER_INVAL,
                    "the mode is " + std::to_string(mode) + ": use STEPSTORE_READ or STEPSTORE_WRITE");
    return mode == STEPSTORE_WRITE ? arrays::Mode::write : arrays::Mode::read;
}

using FormGroup = std::function<std::shared_ptr<Communicator>(const std::string& key, double seconds)>;

// All ranks form a group first, whatever they open: so those that open different things are told.
int open_store(const char* location, int mode, const stepstore_open_options* options, stepstore_arrays* store,
               const FormGroup& form)
{
    return shielded([&] {
        require(store, "store");
        *store = 0;
        arrays::Mode how = arrays::Mode::read;
        arrays::OpenOptions with;
        const std::exception_ptr fault = fault_of([&] {
            require(location, "the location");
            how = mode_of(mode);
            with = open_options(options);
        });
        const double seconds = with.timeout_seconds > 0 ? with.timeout_seconds : 300;
        std::shared_ptr<Communicator> group;
        try {
            group = form("a location of arrays", seconds);
        } catch (const Error& error) {
            if (error.code() != -DER_TIMEDOUT) throw;
            throw Error(-DER_TIMEDOUT, "open: not all ranks of the communicator opened a location within " +
                                           std::to_string(seconds) + " s (timeout_seconds)");
        }
        *store = stores.insert(
            std::make_shared<Store>(location == nullptr ? "" : location, how, std::move(group), with, fault));
    });
}

void start(stepstore_arrays store, stepstore_request* request,
           const std::function<arrays::Request(Store&)>& begin, const std::function<void(Store&)>& now)
{
    const std::shared_ptr<Store> open = stores.get(store);
    if (request == nullptr) return now(*open);
    *request = 0;
    auto pending = std::make_shared<PendingRequest>();
    pending->store = open;
    pending->request = begin(*open);
    *request = requests.insert(std::move(pending));
}

// What the four calls that write have in common.
struct WriteArguments {
    const char* name;
    stepstore_type type;
    int ndim;
    const int64_t* shape;
    const int64_t* start;
    const int64_t* count;
    const void* data;
    const int64_t* strides;
    const stepstore_array_options* options;
};

int write(stepstore_arrays store, const WriteArguments& given, arrays::Placement placement,
          std::optional<int> along, stepstore_request* request)
{
    return shielded([&] {
        arrays::WriteCall call;
        call.placement = placement;
        call.append_along = along;
        call.data = given.data;
        if (given.name != nullptr) call.name = given.name;
        call.fault = fault_of([&] {
            require(given.name, "the name of the array");
            call.type = element_type(given.type);
            check_dimensions(given.ndim);
            call.shape = numbers(given.shape, given.ndim, "shape");
            call.start = numbers(given.start, given.ndim, "start");
            call.count = numbers(given.count, given.ndim, "count");
            if (given.strides != nullptr) call.strides = numbers(given.strides, given.ndim, "strides");
            call.layout = layout(given.options);
        });
        start(
            store, request, [&](Store& open) { return open.begin_write(call); },
            [&](Store& open) { open.write(call); });
    });
}

} // namespace

std::uint64_t names_handle(std::vector<std::string> names)
{
    return lists.insert(std::make_shared<NamesList>(NamesList{std::move(names)}));
}

} // namespace stepstore

using namespace stepstore;

extern "C" {

int stepstore_arrays_open(const char* location, int mode, const void* comm,
                          const stepstore_open_options* options, stepstore_arrays* store)
{
    return open_store(location, mode, options, store, [&](const std::string& key, double seconds) {
        return comm == nullptr ? self_communicator() : form_group_within(comm, key, seconds);
    });
}

int stepstore_arrays_open_fortran(const char* location, int mode, int comm,
                                  const stepstore_open_options* options, stepstore_arrays* store)
{
    return open_store(location, mode, options, store, [&](const std::string& key, double seconds) {
        return form_group_within_fortran(comm, key, seconds);
    });
}

int stepstore_arrays_close(stepstore_arrays* store)
{
    return shielded([&] {
        require(store, "store");
        const std::shared_ptr<Store> open = stores.take(*store);
        *store = 0;
        open->close();
    });
}

int stepstore_arrays_sync(stepstore_arrays store)
{
    return shielded([&] { stores.get(store)->sync(); });
}

int stepstore_arrays_group(stepstore_arrays store, int* rank, int* size)
{
    return shielded([&] {
        const std::shared_ptr<Store> open = stores.get(store);
        if (rank != nullptr) *rank = open->rank();
        if (size != nullptr) *size = open->size();
    });
}

const char* stepstore_arrays_message(void)
{
    return last_message.c_str();
}

int stepstore_write_array(stepstore_arrays store, const char* name, stepstore_type type, int ndim,
                          const int64_t* shape, const int64_t* start, const int64_t* count, const void* data,
                          const int64_t* strides, const stepstore_array_options* options,
                          stepstore_request* request)
{
    return write(store, {name, type, ndim, shape, start, count, data, strides, options},
                 arrays::Placement::one_object, std::nullopt, request);
}

int stepstore_write_object(stepstore_arrays store, const char* name, stepstore_type type, int ndim,
                           const int64_t* shape, const int64_t* start, const int64_t* count, const void* data,
                           const int64_t* strides, const stepstore_array_options* options,
                           stepstore_request* request)
{
    return write(store, {name, type, ndim, shape, start, count, data, strides, options},
                 arrays::Placement::object_per_block, std::nullopt, request);
}

int stepstore_append_array(stepstore_arrays store, const char* name, int dimension, stepstore_type type,
                           int ndim, const int64_t* shape, const int64_t* start, const int64_t* count,
                           const void* data, const int64_t* strides, const stepstore_array_options* options,
                           stepstore_request* request)
{
    return write(store, {name, type, ndim, shape, start, count, data, strides, options},
                 arrays::Placement::one_object, dimension, request);
}

int stepstore_append_object(stepstore_arrays store, const char* name, int dimension, stepstore_type type,
                            int ndim, const int64_t* shape, const int64_t* start, const int64_t* count,
                            const void* data, const int64_t* strides, const stepstore_array_options* options,
                            stepstore_request* request)
{
    return write(store, {name, type, ndim, shape, start, count, data, strides, options},
                 arrays::Placement::object_per_block, dimension, request);
}

int stepstore_read_array(stepstore_arrays store, const char* name, stepstore_type type, int ndim,
                         const int64_t* shape, const int64_t* start_, const int64_t* count, void* data,
                         const int64_t* strides, stepstore_request* request)
{
    return shielded([&] {
        arrays::ReadCall call;
        call.data = data;
        if (name != nullptr) call.name = name;
        call.fault = fault_of([&] {
            require(name, "the name of the array");
            call.type = element_type(type);
            check_dimensions(ndim);
            call.dimensions = static_cast<unsigned>(ndim);
            if (shape != nullptr) call.shape = numbers(shape, ndim, "shape");
            if (start_ != nullptr || count != nullptr) {
                call.start = numbers(start_, ndim, "start");
                call.count = numbers(count, ndim, "count");
            }
            if (strides != nullptr) call.strides = numbers(strides, ndim, "strides");
        });
        start(
            store, request, [&](Store& open) { return open.begin_read(call); },
            [&](Store& open) { open.read(call); });
    });
}

int stepstore_wait(stepstore_request* request)
{
    return shielded([&] {
        require(request, "request");
        if (*request == 0) return;
        const std::shared_ptr<PendingRequest> pending = requests.take(*request);
        *request = 0;
        pending->request.wait();
    });
}

int stepstore_test(stepstore_request request, int* done)
{
    return shielded([&] {
        require(done, "done");
        *done = request == 0 || requests.get(request)->request.ready() ? 1 : 0;
    });
}

int stepstore_array_inquire(stepstore_arrays store, const char* name, stepstore_array_info* info)
{
    return shielded([&] {
        require(info, "info");
        const arrays::ArrayInfo is = stores.get(store)->inquire(name == nullptr ? "" : name);
        *info = {};
        info->type = c_type(is.type);
        info->ndim = static_cast<int32_t>(is.shape.size());
        info->order = is.order == arrays::Order::column_major ? 1 : 0; // STEPSTORE_COLUMN_MAJOR
        for (std::size_t d = 0; d < is.shape.size(); ++d)
            info->shape[d] = static_cast<int64_t>(is.shape[d]);
        info->element_size = static_cast<int64_t>(size_of(is.type));
        info->blocks = static_cast<int64_t>(is.blocks);
        info->append_dimension = is.grows_along ? static_cast<int32_t>(*is.grows_along) : -1;
        info->checksum = is.layout.checksum ? 1 : 0;
        info->chunk_size = is.layout.chunk_size;
        info->version = is.version;
        is.layout.object_class.copy(info->object_class, sizeof info->object_class - 1);
    });
}

int stepstore_array_remove(stepstore_arrays store, const char* name)
{
    return shielded([&] { stores.get(store)->remove(name == nullptr ? "" : name); });
}

int stepstore_array_list(stepstore_arrays store, stepstore_names* names)
{
    return shielded([&] {
        require(names, "names");
        *names = names_handle(stores.get(store)->list());
    });
}

int stepstore_attribute_set(stepstore_arrays store, const char* name, const char* attribute,
                            stepstore_type type, int64_t count, const void* values)
{
    return shielded([&] {
        arrays::Attribute value;
        const std::exception_ptr fault = fault_of([&] {
            require(name, "the name of the array");
            require(attribute, "the name of the attribute");
            value.type = element_type(type);
            if (count < 0) throw Error(-DER_INVAL, "count is " + std::to_string(count) + ", less than 0");
            value.count = static_cast<std::uint64_t>(count);
            if (count > 0) require(values, "values");
            std::uint64_t bytes = 0;
            if (__builtin_mul_overflow(value.count, size_of(value.type), &bytes) || bytes > (1U << 30))
                throw Error(-DER_INVAL, "the value has " + std::to_string(count) +
                                            " elements, more than an attribute holds: it has at most 1 MiB");
            const auto* first = static_cast<const std::byte*>(values);
            if (bytes > 0) value.values.assign(first, first + bytes);
        });
        stores.get(store)->set_attribute(name == nullptr ? "" : name, attribute == nullptr ? "" : attribute,
                                         value, fault);
    });
}

int stepstore_attribute_set_text(stepstore_arrays store, const char* name, const char* attribute,
                                 const char* given)
{
    const std::size_t length = given == nullptr ? 1 : std::strlen(given); // of none: refused below
    const int64_t count = length == 0 ? 0 : 1;
    return stepstore_attribute_set(store, name, attribute, STEPSTORE_CHARACTER_OF(length), count, given);
}

int stepstore_attribute_get(stepstore_arrays store, const char* name, const char* attribute,
                            stepstore_type* type, int64_t* count, void* values, int64_t* bytes)
{
    return shielded([&] {
        const arrays::Attribute value =
            stores.get(store)->attribute(name == nullptr ? "" : name, attribute == nullptr ? "" : attribute);
        if (type != nullptr) *type = c_type(value.type);
        if (count != nullptr) *count = static_cast<int64_t>(value.count);
        require(bytes, "bytes");
        const int64_t room = *bytes;
        *bytes = static_cast<int64_t>(value.values.size());
        if (values == nullptr) return;
        if (room < *bytes)
            throw Error(-DER_TRUNC, "the attribute '" + std::string(attribute) + "' has " +
                                        std::to_string(*bytes) + " bytes, and there is room for " +
                                        std::to_string(room) + ": give more memory");
        if (!value.values.empty()) std::memcpy(values, value.values.data(), value.values.size());
    });
}

int stepstore_attribute_remove(stepstore_arrays store, const char* name, const char* attribute)
{
    return shielded([&] {
        stores.get(store)->remove_attribute(name == nullptr ? "" : name,
                                            attribute == nullptr ? "" : attribute);
    });
}

int stepstore_attribute_list(stepstore_arrays store, const char* name, stepstore_names* names)
{
    return shielded([&] {
        require(names, "names");
        *names = names_handle(stores.get(store)->attributes(name == nullptr ? "" : name));
    });
}

int stepstore_names_count(stepstore_names names, int64_t* count)
{
    return shielded([&] {
        require(count, "count");
        *count = static_cast<int64_t>(lists.get(names)->names.size());
    });
}

const char* stepstore_names_get(stepstore_names names, int64_t index)
{
    const char* name = nullptr;
    shielded([&] {
        const std::shared_ptr<NamesList> list = lists.get(names);
        if (index >= 0 && static_cast<std::uint64_t>(index) < list->names.size())
            name = list->names[static_cast<std::size_t>(index)].c_str();
    });
    return name;
}

int stepstore_names_free(stepstore_names* names)
{
    return shielded([&] {
        require(names, "names");
        lists.take(*names);
        *names = 0;
    });
}

} // extern "C"

// Bare librados: what the same puts, gets, writes and reads take with nothing of ours. A value below 64 KiB
// is a key in the omap of one of 8 objects, which all processes share, as our targets. A larger one is an
// object of its own. An array is cut into objects of 1 MiB. Each operation is one round trip.
//
// librados is loaded here, when a location on Ceph is given, so that the program does without it elsewhere.
#include "subject.h"

#include <dlfcn.h>
#include <rados/librados.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>

namespace stepstore::bench {

namespace {

constexpr std::size_t targets = 8;
constexpr std::size_t largest_in_omap = 64 << 10;
constexpr std::size_t object_size = 1 << 20;

// One function of librados.
template <class Function>
Function* function(const char* name)
{
    static void* const library = dlopen("librados.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void* found = library == nullptr ? nullptr : dlsym(library, name);
    if (found == nullptr)
        throw std::runtime_error(std::string("bare librados cannot be measured: ") + dlerror());
    return reinterpret_cast<Function*>(found);
}
#define STEPSTORE_LIBRADOS(name) function<decltype(name)>(#name)

int require(int result, const char* what)
{
    if (result < 0)
        throw std::runtime_error(std::string("librados: ") + what + ": " + std::strerror(-result));
    return result;
}

class LibradosSubject final : public Subject {
public:
    LibradosSubject(const Case& one, const Location& location, unsigned process)
        : Subject(one), process_(process)
    {
        // The name of the user is in CEPH_ARGS.
        require(STEPSTORE_LIBRADOS(rados_create)(&cluster_, nullptr), "rados_create");
        require(STEPSTORE_LIBRADOS(rados_conf_read_file)(cluster_, std::getenv("CEPH_CONF")),
                "the configuration cannot be read");
        require(STEPSTORE_LIBRADOS(rados_conf_parse_env)(cluster_, nullptr), "CEPH_ARGS");
        require(STEPSTORE_LIBRADOS(rados_connect)(cluster_), "rados_connect");
        require(STEPSTORE_LIBRADOS(rados_ioctx_create)(cluster_, location.pool.c_str(), &io_),
                "rados_ioctx_create");
        STEPSTORE_LIBRADOS(rados_ioctx_set_namespace)(io_, location.name_space.c_str());
    }
    ~LibradosSubject() override
    {
        STEPSTORE_LIBRADOS(rados_ioctx_destroy)(io_);
        STEPSTORE_LIBRADOS(rados_shutdown)(cluster_);
    }
    LibradosSubject(const LibradosSubject&) = delete;
    LibradosSubject& operator=(const LibradosSubject&) = delete;

    void run(std::uint64_t place) override
    {
        const std::string own = std::to_string(process_) + "-" + std::to_string(place);
        switch (case_.operation) {
        case Operation::kv_put: return case_.size < largest_in_omap ? put(own) : write("key-" + own, 0);
        case Operation::kv_get: return case_.size < largest_in_omap ? get(own) : read("key-" + own, 0);
        case Operation::array_write: return write(chunk(place), offset(place));
        case Operation::array_read: return read(chunk(place), offset(place));
        }
    }

    void remove_all()
    {
        rados_list_ctx_t list = nullptr;
        require(STEPSTORE_LIBRADOS(rados_nobjects_list_open)(io_, &list), "rados_nobjects_list_open");
        std::vector<std::string> names;
        for (const char* name = nullptr;
             STEPSTORE_LIBRADOS(rados_nobjects_list_next)(list, &name, nullptr, nullptr) == 0;)
            names.emplace_back(name);
        STEPSTORE_LIBRADOS(rados_nobjects_list_close)(list);
        for (const std::string& name : names)
            require(STEPSTORE_LIBRADOS(rados_remove)(io_, name.c_str()), "rados_remove");
    }

private:
    std::uint64_t in_a_chunk() const { return object_size / case_.size; }
    std::string chunk(std::uint64_t place) const
    {
        return "chunk-" + std::to_string(process_) + "-" + std::to_string(place / in_a_chunk());
    }
    std::uint64_t offset(std::uint64_t place) const { return place % in_a_chunk() * case_.size; }
    static std::string target_of(const std::string& key)
    {
        return "target-" + std::to_string(std::hash<std::string>{}(key) % targets);
    }

    void put(const std::string& key)
    {
        const char* keys[] = {key.data()};
        const char* values[] = {buffer_.data()};
        const std::size_t key_sizes[] = {key.size()};
        const std::size_t value_sizes[] = {buffer_.size()};
        rados_write_op_t update = STEPSTORE_LIBRADOS(rados_create_write_op)();
        STEPSTORE_LIBRADOS(rados_write_op_omap_set2)(update, keys, values, key_sizes, value_sizes, 1);
        const int result = STEPSTORE_LIBRADOS(rados_write_op_operate)(update, io_, target_of(key).c_str(),
                                                                      nullptr, LIBRADOS_OPERATION_NOFLAG);
        STEPSTORE_LIBRADOS(rados_release_write_op)(update);
        require(result, "rados_write_op_omap_set2");
    }
    void get(const std::string& key)
    {
        const char* keys[] = {key.data()};
        const std::size_t sizes[] = {key.size()};
        rados_omap_iter_t found = nullptr;
        int of_it = 0;
        rados_read_op_t fetch = STEPSTORE_LIBRADOS(rados_create_read_op)();
        STEPSTORE_LIBRADOS(rados_read_op_omap_get_vals_by_keys2)(fetch, keys, 1, sizes, &found, &of_it);
        const int result = STEPSTORE_LIBRADOS(rados_read_op_operate)(fetch, io_, target_of(key).c_str(),
                                                                     LIBRADOS_OPERATION_NOFLAG);
        char *name = nullptr, *value = nullptr;
        std::size_t name_size = 0, size = 0;
        if (result == 0) STEPSTORE_LIBRADOS(rados_omap_get_next2)(found, &name, &value, &name_size, &size);
        const bool whole = size == buffer_.size();
        if (whole) std::memcpy(buffer_.data(), value, size);
        if (found != nullptr) STEPSTORE_LIBRADOS(rados_omap_get_end)(found);
        STEPSTORE_LIBRADOS(rados_release_read_op)(fetch);
        require(result, "rados_read_op_omap_get_vals_by_keys2");
        if (!whole) throw std::runtime_error("librados: the value is not there");
    }
    void write(const std::string& object, std::uint64_t at)
    {
        require(STEPSTORE_LIBRADOS(rados_write)(io_, object.c_str(), buffer_.data(), buffer_.size(), at),
                "rados_write");
    }
    void read(const std::string& object, std::uint64_t at)
    {
        const int size =
            require(STEPSTORE_LIBRADOS(rados_read)(io_, object.c_str(), buffer_.data(), buffer_.size(), at),
                    "rados_read");
        if (static_cast<std::size_t>(size) != buffer_.size())
            throw std::runtime_error("librados: the object is too short");
    }

    unsigned process_;
    rados_t cluster_ = nullptr;
    rados_ioctx_t io_ = nullptr;
};

} // namespace

std::unique_ptr<Subject> open_librados(const Case& one, const Location& location, unsigned process)
{
    return std::make_unique<LibradosSubject>(one, location, process);
}

void remove_librados(const Location& location)
{
    LibradosSubject(Case{.operation = Operation::kv_put, .size = 1}, location, 0).remove_all();
}

} // namespace stepstore::bench

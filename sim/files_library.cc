#include "files_library.h"

#include "contents.h"
#include "events.h"
#include "stepstore/admin.h"
#include "world.h"

#include <memory>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace stepstore::sim {

namespace {

constexpr std::uint64_t owner_bytes = 128; // about; of the file that says whose temporary files these are

struct FileRequest {
    int kind; // STEPSTORE_FILE_...
    std::string path, from;
    std::uint64_t at = 0, bytes = 0;
};
using FileRequests = std::vector<FileRequest>;

// Knows the pool's files, and collects the requests of the call that runs now.
class Asked {
public:
    explicit Asked(std::string pool) : pool_(std::move(pool)) {}

    // Those of a call within a call are the outer one's.
    template <class Call>
    int during(const Call& call, FileRequests& requests)
    {
        FileRequests* const outer = noting_;
        if (outer == nullptr) noting_ = &requests;
        const int code = call();
        noting_ = outer;
        return code;
    }

    void note(const stepstore_file_call& call)
    {
        if (noting_ == nullptr) return;
        if (call.path != nullptr && call.fd >= 0) paths_[call.fd] = call.path;
        noting_->push_back({call.kind, call.path != nullptr ? call.path : paths_[call.fd],
                            call.from != nullptr ? call.from : "", call.at, call.bytes});
    }

    void pass(Client& client, const FileRequests& requests)
    {
        std::string forgotten; // the next read of it is not from a cache
        for (const FileRequest& request : requests) {
            if (request.kind == STEPSTORE_FILE_FORGET)
                forgotten = request.path;
            else
                pass(client, request, request.path == forgotten);
            if (request.kind == STEPSTORE_FILE_READ) forgotten.clear();
        }
    }

    const FileCounts& counts() const { return counts_; }

private:
    static FileSystem& files() { return World::current().files(); }

    void pass(Client& client, const FileRequest& request, bool past_cache)
    {
        const std::size_t node = client.node;
        switch (request.kind) {
        case STEPSTORE_FILE_READ:
            if (request.bytes == 0) return;
            ++counts_.reads;
            if (past_cache) return files().read_past_cache(node, file(request), request.at, request.bytes);
            return files().read(node, file(request), request.at, request.bytes, request.at + request.bytes);
        case STEPSTORE_FILE_WRITE:
            ++counts_.writes;
            return files().write(node, file(request), request.at, request.bytes);
        case STEPSTORE_FILE_SYNC: ++counts_.syncs; return files().sync();
        case STEPSTORE_FILE_SYNC_NAMES: ++counts_.syncs; return files().sync_names();
        case STEPSTORE_FILE_FORGET: return;
        case STEPSTORE_FILE_LIST:
            ++counts_.listings;
            return files().list(node, number_of(request.path), request.bytes);
        default: return pass_name(client, request); // a look, open, make, remove or size
        }
    }

    void pass_name(Client& client, const FileRequest& request)
    {
        const bool is_new = request.kind == STEPSTORE_FILE_OPEN && !files_.contains(request.path);
        if (request.kind == STEPSTORE_FILE_OPEN || request.kind == STEPSTORE_FILE_MAKE) file(request);
        begin_temporary(client, request.path);
        const std::uint64_t directory = find_directory(client, request.path);
        if (request.kind == STEPSTORE_FILE_MAKE || request.kind == STEPSTORE_FILE_REMOVE || is_new) {
            ++counts_.changes;
            return files().change(client.node, directory);
        }
        ++counts_.looks;
        files().look(client.node, directory);
    }

    // Of a name below a directory that is this client's own.
    static bool is_temporary(const std::string& path)
    {
        return path.find("/temporary/") != std::string::npos;
    }

    // What a process does before its first temporary file. Of the first one the pool's own code did it.
    void begin_temporary(Client& client, const std::string& path)
    {
        if (!is_temporary(path) || !with_temporary_.insert(client.number).second) return;
        if (with_temporary_.size() == 1) return;
        const std::string own = path.substr(0, path.rfind('/'));
        const std::string owner = own + "/owner#" + std::to_string(client.number);
        counts_.changes += 2;
        files().change(client.node, number_of(own.substr(0, own.rfind('/'))));
        files().change(client.node, find_directory(client, owner));
        pass(client, {STEPSTORE_FILE_WRITE, owner, "", 0, owner_bytes}, false);
        pass(client, {STEPSTORE_FILE_SYNC, owner, ""}, false);
    }

    // The directory of a name, which the node may have to find first, part by part.
    std::uint64_t find_directory(Client& client, const std::string& path)
    {
        const std::size_t last = path.rfind('/');
        for (std::size_t end = path.find('/', pool_.size() + 1); end < last; end = path.find('/', end + 1))
            files().find(client.node, number_of(path.substr(0, end)));
        std::string directory = path.substr(0, last);
        const std::size_t above = directory.rfind('/');
        if (is_temporary(path)) {
            directory += "#" + std::to_string(client.number);
        } else if (above != std::string::npos && directory.substr(0, above).ends_with("/data")) {
            const std::size_t maker = makers_.try_emplace(path, client.node).first->second;
            directory += "#" + std::to_string(maker);
        }
        const std::uint64_t number = number_of(directory);
        files().find(client.node, number);
        return number;
    }

    // Names have random parts. So what stands for them is their order.
    std::uint64_t number_of(const std::string& directory)
    {
        return directories_.try_emplace(directory, directories_.size()).first->second;
    }

    // What stands for a file, by any of its names.
    const std::string& file(const FileRequest& request)
    {
        if (const auto known = files_.find(request.path); known != files_.end()) return known->second;
        std::string name = std::to_string(files_.size());
        if (const auto from = files_.find(request.from); from != files_.end()) name = from->second;
        return files_[request.path] = name;
    }

    const std::string pool_;
    FileRequests* noting_ = nullptr;
    std::unordered_map<int, std::string> paths_; // of open files
    std::unordered_map<std::string, std::uint64_t> directories_;
    std::unordered_map<std::string, std::string> files_;
    std::unordered_map<std::string, std::size_t> makers_; // nodes, of the files of arrays and values
    std::set<std::size_t> with_temporary_;                // clients
    FileCounts counts_;
};

std::unique_ptr<Asked>& asked()
{
    static std::unique_ptr<Asked> only;
    return only;
}

void note(const stepstore_file_call* call)
{
    asked()->note(*call);
}

const Library& below()
{
    static const Library library = Library::ours();
    return library;
}

// Takes the event out of the parameters. The call itself then does without.
template <class Parameters>
daos_event_t* take_event(Parameters& parameters)
{
    constexpr std::size_t count = std::tuple_size_v<Parameters>;
    if constexpr (count > 0) {
        if constexpr (std::is_same_v<std::tuple_element_t<count - 1, Parameters>, daos_event_t*>)
            return std::exchange(std::get<count - 1>(parameters), nullptr);
    }
    return nullptr;
}

// The rest of a call: it takes the time of its requests.
int finish(daos_event_t* event, std::shared_ptr<FileRequests> requests, int code)
{
    return launch(event, [requests = std::move(requests), code, &client = World::current().client()] {
        asked()->pass(client, *requests);
        return code;
    });
}

template <auto Member>
struct Timed;
template <class... Types, int (*Library::*Member)(Types...)>
struct Timed<Member> {
    static int call(Types... given)
    {
        std::tuple<Types...> parameters(given...);
        daos_event_t* const event = take_event(parameters);
        const auto requests = std::make_shared<FileRequests>();
        const int code = asked()->during([&] { return std::apply(below().*Member, parameters); }, *requests);
        return finish(event, requests, code);
    }
};

// A field (Contents::keep_marks). Its file has the mark and a hole, so that a job of many fields fits into
// memory. The file system is asked for all of it.
bool is_marked(const daos_array_iod_t& request, const d_sg_list_t& memory)
{
    return request.arr_nr == 1 && memory.sg_nr == 1 &&
           World::current().contents().takes(request.arr_rgs[0].rg_idx, memory.sg_iovs[0].iov_len);
}

// The call with the mark alone.
struct OfMark {
    OfMark(const daos_array_iod_t& request, const d_sg_list_t& memory)
        : range{request.arr_rgs[0].rg_idx, sizeof(Contents::Mark)}, iod(request), list(memory)
    {
        d_iov_set(&piece, memory.sg_iovs[0].iov_buf, sizeof(Contents::Mark));
        iod.arr_rgs = &range;
        list.sg_iovs = &piece;
    }
    OfMark(const OfMark&) = delete;

    daos_range_t range;
    d_iov_t piece{};
    daos_array_iod_t iod;
    d_sg_list_t list;
};

void ask_for_all(FileRequests& requests, std::uint64_t length)
{
    for (FileRequest& request : requests)
        if (request.kind == STEPSTORE_FILE_READ || request.kind == STEPSTORE_FILE_WRITE)
            if (request.bytes == sizeof(Contents::Mark)) request.bytes = length;
}

int write_array(daos_handle_t handle, daos_handle_t transaction, daos_array_iod_t* request,
                d_sg_list_t* memory, daos_event_t* event)
{
    if (!is_marked(*request, *memory))
        return Timed<&Library::array_write>::call(handle, transaction, request, memory, event);
    const auto requests = std::make_shared<FileRequests>();
    const std::uint64_t length = request->arr_rgs[0].rg_len;
    OfMark mark(*request, *memory);
    int code = asked()->during(
        [&] { return below().array_write(handle, transaction, &mark.iod, &mark.list, nullptr); }, *requests);
    if (code == 0) code = below().array_set_size(handle, transaction, length, nullptr); // the hole
    ask_for_all(*requests, length);
    return finish(event, requests, code);
}

int read_array(daos_handle_t handle, daos_handle_t transaction, daos_array_iod_t* request,
               d_sg_list_t* memory, daos_event_t* event)
{
    if (!is_marked(*request, *memory))
        return Timed<&Library::array_read>::call(handle, transaction, request, memory, event);
    const auto requests = std::make_shared<FileRequests>();
    const std::uint64_t length = request->arr_rgs[0].rg_len;
    OfMark mark(*request, *memory);
    const int code = asked()->during(
        [&] { return below().array_read(handle, transaction, &mark.iod, &mark.list, nullptr); }, *requests);
    const bool whole = mark.iod.arr_nr_short_read == 0;
    request->arr_nr_read = whole ? length : 0;
    request->arr_nr_short_read = whole ? 0 : length;
    ask_for_all(*requests, length);
    return finish(event, requests, code);
}

} // namespace

Library files_library(const std::string& pool)
{
    asked() = std::make_unique<Asked>(pool);
    stepstore_watch_file_calls(&note);
    Library library = below();
#define STEPSTORE_TIMED(member) library.member = &Timed<&Library::member>::call;
    STEPSTORE_TIMED(pool_connect)
    STEPSTORE_TIMED(pool_disconnect)
    STEPSTORE_TIMED(pool_query)
    STEPSTORE_TIMED(pool_list_cont)
    STEPSTORE_TIMED(cont_create_with_label)
    STEPSTORE_TIMED(cont_open)
    STEPSTORE_TIMED(cont_close)
    STEPSTORE_TIMED(cont_destroy)
    STEPSTORE_TIMED(cont_query)
    STEPSTORE_TIMED(cont_alloc_oids)
    STEPSTORE_TIMED(kv_open)
    STEPSTORE_TIMED(kv_close)
    STEPSTORE_TIMED(kv_destroy)
    STEPSTORE_TIMED(kv_put)
    STEPSTORE_TIMED(kv_get)
    STEPSTORE_TIMED(kv_remove)
    STEPSTORE_TIMED(kv_list)
    STEPSTORE_TIMED(kv_exchange)
    STEPSTORE_TIMED(kv_put_if)
    STEPSTORE_TIMED(kv_list_below)
    STEPSTORE_TIMED(kv_get_many)
    STEPSTORE_TIMED(array_create)
    STEPSTORE_TIMED(array_open)
    STEPSTORE_TIMED(array_open_with_attr)
    STEPSTORE_TIMED(array_close)
    STEPSTORE_TIMED(array_destroy)
    STEPSTORE_TIMED(array_get_size)
    STEPSTORE_TIMED(array_set_size)
    STEPSTORE_TIMED(array_punch)
    STEPSTORE_TIMED(array_stat)
#undef STEPSTORE_TIMED
    library.array_write = &write_array;
    library.array_read = &read_array;
    replace_events(library);
    return library;
}

void end_files_library()
{
    stepstore_watch_file_calls(nullptr);
    asked().reset();
}

FileCounts file_counts()
{
    return asked() == nullptr ? FileCounts{} : asked()->counts();
}

} // namespace stepstore::sim

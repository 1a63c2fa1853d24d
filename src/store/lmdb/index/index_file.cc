#include "store/lmdb/index/index_file.h"

#include "store/lmdb/sharing/errors.h"
#include "store/lmdb/sharing/shared_state.h"

#include <daos_errno.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace stepstore::store::lmdb {

namespace {

Descriptor open_index(const RootedPath& path, const std::string& where)
{
    Descriptor fd = open_file(path, O_RDONLY);
    if (!fd && errno == ENOENT)
        throw Error(-DER_DF_INVAL, where + ": " + path +
                                       " is missing, and its index is lost: put the file back from a copy");
    if (!fd) fail_errno(where, "cannot open " + path + owner_of(path));
    return fd;
}

} // namespace

IndexFile::IndexFile(const TargetFiles& target)
    : target_(target), file_(open_index(target.directory / "data.mdb", target.where)), map_(file_.get())
{
    const Metas metas = settled_metas(fd());
    if (!metas.problem.empty())
        throw Error(-DER_DF_INVAL,
                    target.where + ": " + target.directory + "/data.mdb is damaged: " + metas.problem);
    page_size_ = metas.newest()->page_size;
}

// ---- versions

void IndexFile::damaged_metas(const std::string& problem) const
{
    throw Error(-DER_CSUM, target_.where + ": the first pages of the index are damaged (" + problem +
                               "): \"stepstore pool check\" says what can be saved");
}

// The meta page of this version, and the file reaches as far as it says. nullptr, or why it does not stand
// there.
const char* IndexFile::meta_of(std::uint64_t version, Meta& meta)
{
    std::array<std::byte, meta_length> page;
    std::memcpy(page.data(), mapped(2 * page_size_) + (version & 1) * page_size_, page.size());
    if (const char* problem = read_meta(page.data(), meta)) return problem;
    if (meta.transaction != version || meta.page_size != page_size_) return "a version is missing";
    if (meta.last_page > verified_page_.load(std::memory_order_relaxed)) [[unlikely]]
        verify_length(meta);
    return nullptr;
}

bool IndexFile::find(MDB_txn* reader, Meta& meta)
{
    const std::uint64_t version = mdb_txn_id(reader);
    Meta found;
    const char* problem = meta_of(version, found);
    std::atomic_thread_fence(std::memory_order_acquire);
    const auto other = load_little<std::uint64_t>(mapped(2 * page_size_) + ((version & 1) ^ 1) * page_size_ +
                                                  meta_length - sizeof version);
    meta = problem == nullptr ? found : Meta{};
    if (problem == nullptr && other != version + 1) return true;
    MDB_envinfo info;
    mdb_env_info(mdb_txn_env(reader), &info);
    if (info.me_last_txnid <= version) damaged_metas(problem != nullptr ? problem : "a version is missing");
    return false;
}

// Nobody writes to the meta pages meanwhile.
Meta IndexFile::committed_last(MDB_txn* writer)
{
    Meta meta;
    if (const char* problem = meta_of(mdb_txn_id(writer) - 1, meta)) damaged_metas(problem);
    return meta;
}

// ---- length

void IndexFile::verify_length(const Meta& meta)
{
    if (size_of(lmdb_fd_, target_.where) < length_to(meta.last_page)) {
        const auto damage = check_pages(fd(), meta, 1);
        if (!damage.empty()) {
            throw Error(-DER_CSUM, target_.where + ": the index file " + target_.directory +
                                       "/data.mdb was cut off or damaged (" + damage.front() +
                                       "); \"stepstore pool check\" says what can be saved");
        }
        // Spares others the walk; where it cannot be done, nothing else is lost.
        (void)lengthen(meta.last_page);
    }
    raise_to(verified_page_, meta.last_page);
}

void IndexFile::settle_length(std::uint64_t last_page)
{
    if (last_page <= verified_page_.load(std::memory_order_relaxed)) [[likely]]
        return;
    if (size_of(lmdb_fd_, target_.where) >= length_to(last_page) || lengthen(last_page))
        raise_to(verified_page_, last_page);
}

} // namespace stepstore::store::lmdb

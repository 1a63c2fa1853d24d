// A pool that somebody in this process has open, and what becomes of it in a forked child: the child connects
// anew at the first use, and leaves what its parent had alone.
// Threads: any. Errors: DER_NONEXIST, DER_BUSY, DER_STALE if the pool was removed meanwhile, and those of the
// cluster.
#pragma once

#include "store/rados/pool.h"

namespace stepstore::store::rados {

class RadosStorage final : public Storage {
public:
    RadosStorage(std::string path, std::shared_ptr<RadosPool> pool, bool claimed);
    ~RadosStorage() override;

    Target& target(unsigned index) override { return pool().target(index); }
    Target& meta() override { return pool().meta(); }
    bool is_current() override;
    void claim() override;
    Epoch next_epoch() override;
    Space space() override;

private:
    RadosPool& pool();

    const std::string id_; // of the header
    std::atomic<std::uint64_t> generation_;
    std::shared_ptr<RadosPool> pool_;
    std::atomic<bool> claimed_;
};

// The pool at a path, shared with others of this process that have it open. DER_NONEXIST; DER_BUSY: it is
// being made or removed.
std::shared_ptr<RadosPool> open_shared(const std::string& path);
std::unique_ptr<Io> connect_to(const std::string& path);
void share(const std::string& path, const std::shared_ptr<RadosPool>& pool);

} // namespace stepstore::store::rados

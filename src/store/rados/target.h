// A target on RADOS. An update is one operation on the object of its index: the conditions, then the changes.
// The cluster carries it out as a whole or refuses it, so there is no lock, and a process that dies leaves
// nothing half done. docs/design/rados-backend.md has the argument.
// Threads: any, as every Target. Errors: those of the cluster; DER_CSUM for damage.
#pragma once

#include "store/rados/announcer.h"
#include "store/rados/client.h"
#include "store/rados/transaction.h"

#include <atomic>
#include <unordered_map>

namespace stepstore::store::rados {

class RadosTarget final : public Target, public NetworkTarget, public ExtentReader {
public:
    // data: where the pieces of extents lie; io itself, or a pool that may be erasure-coded
    RadosTarget(Io& io, Io& data, std::string objects, unsigned number, std::string object, std::string where,
                Client& client);

    void read(FunctionRef<void(ReadTransaction&)> body) override;
    void open_to_write() override {}
    void write(FunctionRef<void(WriteTransaction&)> body) override;
    ExtentRef append(std::span<Payload> payloads) override;
    bool holds(const ExtentRef& appended) override;
    void entering(const ExtentRef& appended) override;
    void leaving(const ExtentRef& dropped) override;
    void read_extent(const ExtentRef& extent, std::uint64_t skip, MutableBytes into) override;
    std::uint64_t read_at_once() override { return 256 << 20; } // pieces come in parallel
    unsigned most_at_once() override { return rados::most_threads; }
    void at_once(std::size_t count, FunctionRef<void(std::size_t)> work) override;
    void release(const ExtentRef& extent) override;
    std::vector<ExtentFile> extent_files() override;
    std::uint64_t allocated(const ExtentRef& range) override;
    void sync(bool) override {} // what was acknowledged is on the disks of all copies
    bool begin_sync(bool) override { return false; }
    void announce(Bytes key) override { announcer_.send(key); }
    std::unique_ptr<Waiter> watch(Bytes key) override { return announcer_.watch(key); }
    Epoch barrier_epoch(Epoch least, unsigned refused) override;
    std::size_t fills_pages(std::size_t size) const override { return size; }
    void compact() override {}
    Usage usage() override;
    std::vector<std::string> check() override;
    void count(const Counters& added) override;
    Counters counters() override;
    NetworkTarget* network() override { return this; }

    void read_spilled(std::span<SpilledValue> values) override;

    // Of all transactions that this thread has open.
    static void took(Epoch epoch);

    // Removes what dead clients left: connections that are not among the living.
    void clean_up(const std::set<std::uint64_t>& dead_clients);
    // Gives up what this process keeps on the target. False: something is left to be cleaned up.
    bool close();

    Index& index() { return index_; }

private:
    struct Drop {
        std::string key;      // of its note on the target
        std::size_t left = 0; // extents still to be removed
    };
    struct PieceState {
        int code = 0; // -ENOENT: there is none
        std::uint64_t size = 0;
        std::map<std::uint64_t, std::uint64_t> released; // from, to
    };
    struct Wanted { // of an extent
        const ExtentRef& extent;
        std::uint64_t skip = 0;
        MutableBytes into;
        bool lost = false; // set
    };
    enum class Sent : std::uint8_t { done, refused };

    void write(Transaction& transaction, FunctionRef<void(WriteTransaction&)> body);
    bool run(Transaction& transaction, FunctionRef<void(WriteTransaction&)> body);
    Sent send(Transaction& transaction, const std::string& lock);
    void add_conditions(const Transaction& transaction, const std::string& lock,
                        librados::ObjectWriteOperation& operation);
    void add_epoch(Transaction& transaction, Epoch epoch, librados::ObjectWriteOperation& operation,
                   std::map<std::string, Buffer>& set);
    void add_scopes(Transaction& transaction, const std::string& stamp, std::map<std::string, Buffer>& set,
                    std::set<std::string>& removed, std::map<std::string, Raw>& guards);
    void add_extents(Transaction& transaction, librados::ObjectWriteOperation& operation,
                     std::map<std::string, Buffer>& set, std::set<std::string>& removed);
    void spill(Transaction& transaction);
    void carried_out(Transaction& transaction, const std::map<std::string, Raw>& guards);
    void add_counters(std::map<std::string, Buffer>& set, bool now);
    void wait_for_lock(Transaction& transaction, const std::string& mine);
    bool take_lock(const std::string& token);

    std::string piece_name(std::uint64_t file, std::uint64_t piece) const;
    void read_together(std::span<Wanted> all);
    void write_pieces(std::uint64_t file, std::span<const Payload> payloads);
    bool withdraw(std::uint64_t file);
    void let_go_of_lost(const Transaction& transaction);
    void remove_pieces(std::uint64_t file, std::uint64_t count);
    void release_pieces(const ExtentRef& reservation, std::function<void()> done);
    void dropped(const std::shared_ptr<Drop>& drop);
    PieceState look_at_piece(const std::string& name);
    bool notes_in_omap() const { return &data_ == &io_; } // else in attributes: what was released of a piece
    Transaction* transaction_here(); // the one that this thread has open on this target for an update
    void note_read();                // of an extent, for the bodies that this thread runs on this target
    std::string counter_key() const;
    std::array<std::int64_t, 6> totals(); // of all processes

    const std::string objects_; // the beginning of the names of the pool's objects
    const unsigned number_;
    Io& io_;
    Io& data_;
    Index index_;
    Announcer announcer_{index_};
    Remembered remembered_;
    Client& client_;
    const std::uint64_t serial_; // of all targets that this process ever had open
    Lanes lanes_;
    const std::string tag_; // this process's part of stamps
    std::atomic<std::uint32_t> stamps_{0};

    std::mutex guard_;                                                               // guards the next four
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::shared_ptr<Drop>> drops_; // by file and offset
    std::uint64_t notes_open_ = 0;                                                   // of drops
    std::set<std::string> notes_done_;                         // of drops: to be removed with the next update
    std::unordered_map<std::uint64_t, std::uint64_t> lengths_; // of files that this process appended
    std::atomic<std::uint64_t> drop_number_{0};

    std::atomic<std::uint64_t> updates_{0}, fetches_{0}, bytes_written_{0}, bytes_read_{0};
    std::atomic<std::int64_t> index_bytes_{0}, bulk_bytes_{0};
    std::atomic<std::uint64_t> counted_at_{0};
    std::atomic<bool> counted_{false}; // since the cluster was told
};

} // namespace stepstore::store::rados

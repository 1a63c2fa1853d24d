// What handles stand for: pools, containers, objects, transactions.
// Threads: any; a resource does not change after it was opened, and a watch is waited for by one at a time.
// Errors: -DER_NO_HDL, -DER_NO_PERM, -DER_EP_OLD, and those of the store.
#pragma once

#include "base/function_ref.h"
#include "base/text.h"
#include "daos/handles.h"
#include "store/store.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace stepstore::daos {

class PoolResource : public Resource {
public:
    static constexpr Kind handle_kind = Kind::pool;
    PoolResource(const std::string& path, store::Access access);

    std::string name() const override { return "pool " + path_; }
    store::Pool& pool() const { return *pool_; }
    const std::string& path() const { return path_; }
    const store::Uuid& uuid() const { return uuid_; }
    unsigned targets() const { return targets_; }
    store::Access access() const { return access_; }
    void require_writable(const char* what) const; // -DER_NO_PERM

private:
    std::string path_;
    store::Access access_;
    std::shared_ptr<store::Pool> pool_;
    store::Uuid uuid_{};
    unsigned targets_ = 0;
};

class ContainerResource : public Resource {
public:
    static constexpr Kind handle_kind = Kind::container;
    // label_or_uuid: DER_NONEXIST when there is none.
    ContainerResource(std::shared_ptr<PoolResource> pool, const std::string& label_or_uuid,
                      store::Access access);

    store::Container& container() const { return *container_; }
    PoolResource& pool() const { return *pool_; }
    const store::Uuid& uuid() const { return uuid_; }
    store::Access access() const { return access_; } // asked for
    std::uint32_t redundancy_factor() const { return redundancy_factor_; }
    std::string name() const override
    {
        return "container " + (label_.empty() ? uuid_text(uuid_.data()) : label_);
    }
    Resource* opened_from() const noexcept override { return pool_.get(); }
    // As on DAOS the rights of the container count, also if its pool was connected for reading. If the pool
    // cannot be written at all, the first update tells.
    bool is_writable() const { return is_writable_; }
    void require_writable(const char* what) const; // -DER_NO_PERM

private:
    std::shared_ptr<PoolResource> pool_;
    store::Access access_;
    std::shared_ptr<store::Pool> written_pool_; // nullptr: the one of pool_
    bool is_writable_ = false;
    std::shared_ptr<store::Container> container_;
    store::Uuid uuid_{};
    std::string label_;
    std::uint32_t redundancy_factor_ = 0;
};

class Turn;

// At what a call looks or writes: at what there is now, at a snapshot, or through a transaction.
struct Moment {
    store::Epoch epoch = store::latest;
    std::shared_ptr<Turn> turn;                              // nullptr: none of a transaction's
    operator store::Epoch() const noexcept { return epoch; } // NOLINT(google-explicit-constructor)
};

// An open object of any kind.
class ObjectResource : public Resource {
public:
    static constexpr Kind handle_kind = Kind::object;
    ObjectResource(std::shared_ptr<ContainerResource> container, daos_obj_id_t oid, unsigned mode)
        : ObjectResource(handle_kind, std::move(container), oid, mode)
    {
    }

    // Runs `body` with the container. The store returns what is normally absent as a value. So -DER_NONEXIST
    // means that the snapshot or container itself is gone: it becomes -DER_EP_OLD for a snapshot, -DER_NO_HDL
    // for the container.
    template <class Body>
    auto run(store::Epoch epoch, Body body) const
    {
        store::Container& container = container_->container();
        try {
            return body(container);
        } catch (const Error& error) {
            if (error.code() == -DER_NONEXIST) require_ground(container, epoch);
            throw;
        }
    }
    // The same through a transaction, if there is one.
    template <class Body>
    auto run(const Moment& moment, Body body) const
    {
        if (moment.turn) [[unlikely]]
            return through<Body>(*moment.turn, body);
        return run(moment.epoch, body);
    }
    // An update on a condition: `body` also gets whether to look at it. In a transaction the condition counts
    // at once, and of what was committed. The result is then that of the look.
    template <class Body>
    auto run_if(const Moment& moment, bool conditional, Body body) const
    {
        const auto whole = [&](store::Container& in) { return body(in, true); };
        if (!moment.turn) [[likely]]
            return run(moment.epoch, whole);
        if (!conditional) return run(moment, whole);
        const auto look = [&] { return through(*moment.turn, whole, store::Transaction::Part::condition); };
        const auto update = [&] { run(moment, [&](store::Container& in) { body(in, false); }); };
        if constexpr (std::is_void_v<std::invoke_result_t<Body, store::Container&, bool>>) {
            look();
            update();
        } else {
            auto result = look();
            update();
            return result;
        }
    }
    const std::shared_ptr<ContainerResource>& parent() const { return container_; }
    const store::ObjectId& oid() const { return oid_; }
    unsigned mode() const { return mode_; }
    std::string name() const override // "object 12.7 in container x"
    {
        return "object " + object_id_text(oid_.hi, oid_.lo) + " in " + container_->name();
    }
    Resource* opened_from() const noexcept override { return container_.get(); }

    // For updates: -DER_NO_PERM through a read-only handle, container, transaction or snapshot, or where the
    // transaction is not open.
    Moment writing(daos_handle_t th) const
    {
        require_writable();
        return daos_handle_is_inval(th) ? Moment() : moment_of(th, true);
    }
    // For fetches. -DER_NO_HDL, -DER_INVAL; -DER_NO_PERM where the transaction is not open.
    Moment reading(daos_handle_t th) const
    {
        return daos_handle_is_inval(th) ? Moment() : moment_of(th, false);
    }

protected:
    ObjectResource(Kind kind, std::shared_ptr<ContainerResource> container, daos_obj_id_t oid, unsigned mode);

private:
    void require_ground(store::Container& container, store::Epoch epoch) const;
    void require_writable() const;
    Moment moment_of(daos_handle_t th, bool writes) const;
    void run_in(Turn& turn, std::optional<store::Transaction::Part> part,
                FunctionRef<void(store::Container&)> body) const;
    // part: nullopt: as the turn is.
    template <class Body>
    auto through(Turn& turn, Body& body, std::optional<store::Transaction::Part> part = {}) const
    {
        using Result = std::invoke_result_t<Body&, store::Container&>;
        if constexpr (std::is_void_v<Result>) {
            run_in(turn, part, body);
        } else {
            std::optional<Result> result;
            run_in(turn, part, [&](store::Container& in) { result = body(in); });
            return std::move(*result);
        }
    }

    std::shared_ptr<ContainerResource> container_;
    store::ObjectId oid_;
    unsigned mode_;
};

class KeyValueResource : public ObjectResource {
public:
    static constexpr Kind handle_kind = Kind::key_value;
    KeyValueResource(std::shared_ptr<ContainerResource> container, daos_obj_id_t oid, unsigned mode)
        : ObjectResource(handle_kind, std::move(container), oid, mode)
    {
    }
};

// Of a key: what waits for its announcements. One thread at a time does.
class WatchResource : public Resource {
public:
    static constexpr Kind handle_kind = Kind::watch;
    WatchResource(std::shared_ptr<KeyValueResource> object, std::unique_ptr<store::Waiter> waiter)
        : Resource(handle_kind), object_(std::move(object)), waiter_(std::move(waiter))
    {
    }
    std::string name() const override { return "watch of a key of " + object_->name(); }
    Resource* opened_from() const noexcept override { return object_->parent().get(); }
    store::Waiter::Got wait(std::chrono::nanoseconds most)
    {
        const std::lock_guard lock(waiting_);
        return waiter_->wait(most);
    }

private:
    std::shared_ptr<KeyValueResource> object_;
    std::mutex waiting_; // guards waiter_
    const std::unique_ptr<store::Waiter> waiter_;
};

class ArrayResource : public ObjectResource {
public:
    static constexpr Kind handle_kind = Kind::array;
    ArrayResource(std::shared_ptr<ContainerResource> container, daos_obj_id_t oid, unsigned mode,
                  const store::ArrayAttributes& attributes)
        : ObjectResource(handle_kind, std::move(container), oid, mode), attributes_(attributes)
    {
    }
    const store::ArrayAttributes& attributes() const { return attributes_; }
    store::Verify verify() const
    {
        return (mode() & STEPSTORE_OO_UNVERIFIED) != 0 ? store::Verify::no : store::Verify::yes;
    }

private:
    store::ArrayAttributes attributes_;
};

// The removal of all that an open object holds, as an operation of call(). -DER_NO_HDL, -DER_NO_PERM.
template <class Object>
auto punch(daos_handle_t oh, daos_handle_t th)
{
    auto object = resource<Object>(oh);
    return [=, moment = object->writing(th)] {
        object->run(moment, [&](store::Container& in) { in.punch(object->oid()); });
    };
}

// A snapshot, or a transaction that may write (transaction.h).
class TransactionResource : public Resource {
public:
    static constexpr Kind handle_kind = Kind::transaction;
    virtual store::Epoch epoch() = 0; // -DER_UNINIT: it has none yet
    virtual Moment moment(const ObjectResource& object, bool writes) = 0;
    virtual bool is_snapshot() const { return false; }
    const ContainerResource& container() const { return *container_; }

protected:
    explicit TransactionResource(std::shared_ptr<ContainerResource> container)
        : Resource(handle_kind), container_(std::move(container))
    {
    }
    const std::shared_ptr<ContainerResource> container_;
};

} // namespace stepstore::daos

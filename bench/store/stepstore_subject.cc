// Ours, through the libdaos C API, synchronously: a key-value object or an array over all targets of a pool
// of 8.
#include "subject.h"

#include <daos.h>
#include <stepstore/admin.h>

#include <stdexcept>

namespace stepstore::bench {

namespace {

void require(int result, const char* what)
{
    if (result == 0) return;
    const std::string message = stepstore_last_message();
    throw std::runtime_error(message.empty() ? what : message); // which begins with the call's name
}

class StepstoreSubject final : public Subject {
public:
    StepstoreSubject(const Case& one, const std::string& pool, unsigned process)
        : Subject(one), process_(process)
    {
        require(daos_init(), "daos_init");
        require(daos_pool_connect(pool.c_str(), nullptr, DAOS_PC_RW, &pool_, nullptr, nullptr),
                "daos_pool_connect");
        require(daos_cont_open(pool_, "bench", DAOS_COO_RW, &container_, nullptr, nullptr), "daos_cont_open");
        daos_obj_id_t oid{process_ + 1, 0};
        if (kv()) {
            require(daos_obj_generate_oid(container_, &oid, DAOS_OT_KV_HASHED, OC_SX, 0, 0),
                    "daos_obj_generate_oid");
            require(daos_kv_open(container_, oid, DAOS_OO_RW, &object_, nullptr), "daos_kv_open");
        } else {
            require(daos_array_generate_oid(container_, &oid, false, OC_SX, 0, 0), "daos_array_generate_oid");
            const unsigned mode = DAOS_OO_RW | (one.verify ? 0U : STEPSTORE_OO_UNVERIFIED);
            require(
                daos_array_open_with_attr(container_, oid, DAOS_TX_NONE, mode, 1, 1 << 20, &object_, nullptr),
                "daos_array_open_with_attr");
        }
    }
    ~StepstoreSubject() override
    {
        (void)(kv() ? daos_kv_close(object_, nullptr) : daos_array_close(object_, nullptr));
        (void)daos_cont_close(container_, nullptr);
        (void)daos_pool_disconnect(pool_, nullptr);
        (void)daos_fini();
    }
    StepstoreSubject(const StepstoreSubject&) = delete;
    StepstoreSubject& operator=(const StepstoreSubject&) = delete;

    void run(std::uint64_t place) override
    {
        if (kv())
            run_kv("key-" + std::to_string(100'000 + place));
        else
            run_array(place);
    }

private:
    bool kv() const { return case_.operation == Operation::kv_put || case_.operation == Operation::kv_get; }
    void run_kv(const std::string& key)
    {
        if (!reads(case_)) {
            require(
                daos_kv_put(object_, DAOS_TX_NONE, 0, key.c_str(), buffer_.size(), buffer_.data(), nullptr),
                "daos_kv_put");
            return;
        }
        daos_size_t size = buffer_.size();
        require(daos_kv_get(object_, DAOS_TX_NONE, 0, key.c_str(), &size, buffer_.data(), nullptr),
                "daos_kv_get");
        if (size != buffer_.size()) throw std::runtime_error("daos_kv_get: the value is not there");
    }
    void run_array(std::uint64_t place)
    {
        daos_range_t range{place * case_.size, case_.size};
        daos_array_iod_t iod{1, &range, 0, 0};
        d_iov_t piece{};
        d_iov_set(&piece, buffer_.data(), buffer_.size());
        d_sg_list_t list{1, 0, &piece};
        if (!reads(case_))
            require(daos_array_write(object_, DAOS_TX_NONE, &iod, &list, nullptr), "daos_array_write");
        else
            require(daos_array_read(object_, DAOS_TX_NONE, &iod, &list, nullptr), "daos_array_read");
    }

    unsigned process_;
    daos_handle_t pool_{}, container_{}, object_{};
};

} // namespace

void make_stepstore(const Case& one, const Location& location)
{
    const std::string path = location.stepstore_pool();
    const stepstore_pool_options options{nullptr, nullptr, 8, one.power ? 1U : 0U, nullptr, 0};
    require(daos_init(), "daos_init");
    require(stepstore_pool_create(path.c_str(), &options), "stepstore_pool_create");
    daos_handle_t pool{};
    require(daos_pool_connect(path.c_str(), nullptr, DAOS_PC_RW, &pool, nullptr, nullptr),
            "daos_pool_connect");
    require(daos_cont_create_with_label(pool, "bench", nullptr, nullptr, nullptr),
            "daos_cont_create_with_label");
    require(daos_pool_disconnect(pool, nullptr), "daos_pool_disconnect");
    require(daos_fini(), "daos_fini");
}

void remove_stepstore(const Location& location)
{
    require(stepstore_pool_destroy(location.stepstore_pool().c_str()), "stepstore_pool_destroy");
}

std::unique_ptr<Subject> open_stepstore(const Case& one, const Location& location, unsigned process)
{
    return std::make_unique<StepstoreSubject>(one, location.stepstore_pool(), process);
}

} // namespace stepstore::bench

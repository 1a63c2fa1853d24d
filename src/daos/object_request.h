// What daos_obj_update() and daos_obj_fetch() are asked for, checked and in the store's terms; and the answer
// of a fetch in the caller's.
// Threads: that of the call, and then the worker that carries it out. Errors: DER_INVAL, DER_NO_PERM,
// DER_REC2BIG.
#pragma once

#include "daos/array_request.h"
#include "daos/object_key.h"

#include <exception>

namespace stepstore::daos {

// What a call says of one akey. Memory: Bytes for an update, MutableBytes for a fetch.
template <class Memory>
struct AkeyPart {
    ObjectKey akey;
    store::AkeyType type = store::AkeyType::single;
    Listed<store::Range> ranges;
    std::uint64_t records = 0;
    Listed<Memory> memory;
    std::uint64_t room = 0; // bytes of memory
};

struct FetchPart : AkeyPart<MutableBytes> {
    std::vector<store::Range> stored; // after the fetch, ascending
};

class UpdateRequest : NotCopied {
public:
    // runs_later: the caller may use its memory for something else meanwhile, where DAOS would have taken it.
    UpdateRequest(const store::ObjectId& oid, std::uint64_t flags, const daos_key_t* dkey, unsigned nr,
                  const daos_iod_t* iods, const d_sg_list_t* sgls, bool runs_later);
    bool has_conditions() const;
    void run(store::Container& in, const store::ObjectId& oid, bool conditional) const
    {
        if (!conditional && has_conditions()) return run_unconditionally(in, oid);
        in.akey_update(oid, dkey_.view(), updates_.all(), of_dkey_);
    }

private:
    void require_different_akeys() const;
    void run_unconditionally(store::Container& in, const store::ObjectId& oid) const;

    ObjectKey dkey_;
    store::Condition of_dkey_;
    std::vector<AkeyPart<Bytes>> parts_;
    std::vector<CallerBytes> taken_;
    Listed<store::AkeyUpdate> updates_;
};

class FetchRequest : NotCopied {
public:
    // The arrays stay the caller's until tell().
    FetchRequest(const store::ObjectId& oid, std::uint64_t flags, const daos_key_t* dkey, unsigned nr,
                 daos_iod_t* iods, d_sg_list_t* sgls, daos_iom_t* ioms, bool runs_later);
    void run(const ObjectResource& object, const Moment& epoch);
    void tell(); // the caller; DER_REC2BIG

private:
    void tell(std::size_t i);

    ObjectKey dkey_;
    bool dkey_must_exist_;
    daos_iod_t* iods_;
    d_sg_list_t* sgls_;
    daos_iom_t* ioms_;
    std::vector<FetchPart> parts_;
    std::vector<store::AkeyFetch> fetches_;
    std::exception_ptr too_big_;
};

} // namespace stepstore::daos

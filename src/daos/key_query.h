// The highest or lowest keys and records of an object (daos_obj_query_key).
// Threads: those of the store. Errors: DER_INVAL.
#pragma once

#include "daos/object_key.h"

namespace stepstore::daos {

class KeyQuery : NotCopied {
public:
    // The memory of what is looked for stays the caller's until tell(); *recx is set to zeroes at once.
    KeyQuery(const store::ObjectId& oid, std::uint64_t flags, daos_key_t* dkey, daos_key_t* akey,
             daos_recx_t* recx, bool runs_later);
    void run(const ObjectResource& object, const Moment& epoch);
    void tell() const; // the caller

private:
    bool wants(std::uint64_t flag) const { return (flags_ & flag) != 0; }
    bool find_in(Bytes dkey);
    bool find_in(Bytes dkey, Bytes akey);
    bool find_first(Level level, std::vector<std::uint64_t>& numbers, std::uint64_t& found,
                    FunctionRef<bool(Bytes key)> suits) const;

    std::uint64_t flags_;
    daos_key_t* dkey_out_;
    daos_key_t* akey_out_;
    daos_recx_t* recx_out_;
    ObjectKey dkey_, akey_; // those that are given

    const ObjectResource* object_ = nullptr; // during run()
    Moment epoch_;
    bool found_ = false;
    std::uint64_t found_dkey_ = 0, found_akey_ = 0;
    store::Range found_records_;
};

} // namespace stepstore::daos

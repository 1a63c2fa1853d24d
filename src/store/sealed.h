// Small records of the pool itself (header, containers, snapshots): a checksum of key and body, then the
// body.
// Threads: that of the transaction. Errors: DER_CSUM; unseal() and BodyReader say false.
#pragma once

#include "base/wire.h"
#include "store/backend.h"
#include "store/keys.h"

#include <string>
#include <vector>

namespace stepstore::store {

void put_sealed(WriteTransaction& transaction, Bytes key, Bytes body);
// False: no such record. DER_CSUM, naming `where`, when it is damaged, or one beside its place is
// (verify_miss.h).
bool get_sealed(ReadTransaction& transaction, Bytes key, Bytes& body, const std::string& where);
// Erases a record, but none of another key that lies there because its key was damaged.
void erase_sealed(WriteTransaction& transaction, Bytes key);
bool unseal(Bytes key, Bytes value, Bytes& body); // false: damaged

// Writes and reads the fields of a body in order. Reading past the end gives zeros and makes complete()
// false.
class BodyWriter {
public:
    BodyWriter& number(std::uint64_t value)
    {
        WireWriter(body_).fixed(value);
        return *this;
    }
    BodyWriter& bytes(Bytes value) // with its length
    {
        number(value.size());
        body_.insert(body_.end(), value.begin(), value.end());
        return *this;
    }
    Bytes view() const { return body_; }

private:
    std::vector<std::byte> body_;
};
class BodyReader {
public:
    explicit BodyReader(Bytes body) : rest_(body) {}
    std::uint64_t number();
    Bytes bytes();
    bool complete() const { return !overrun_; }

private:
    Bytes rest_;
    bool overrun_ = false;
};

} // namespace stepstore::store

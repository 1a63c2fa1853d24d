#include "daos/object_key.h"

namespace stepstore::daos {

bool has_number_keys(const store::ObjectId& oid, Level level)
{
    const daos_obj_id_t id{.lo = oid.lo, .hi = oid.hi};
    return level == Level::dkey ? daos_is_dkey_uint64(id) : daos_is_akey_uint64(id);
}

bool is_turned(const store::ObjectId& oid, Level level)
{
    return has_number_keys(oid, level) && !daos_is_kv({.lo = oid.lo, .hi = oid.hi});
}

Bytes key_for_caller(Bytes stored, bool is_turned, std::array<std::byte, 8>& turned)
{
    if (!is_turned || stored.size() != turned.size()) return stored;
    const auto number = load_big<std::uint64_t>(stored.data());
    std::memcpy(turned.data(), &number, sizeof number);
    return turned;
}

void ObjectKey::take(const store::ObjectId& oid, Level level, const daos_key_t* key, bool runs_later)
{
    const char* const name = level_name(level);
    require(key, name);
    require(key->iov_buf, name);
    if (key->iov_len == 0) invalid(std::string("the ") + name + " is empty");
    if (key->iov_len > key->iov_buf_len)
        invalid(std::string("the ") + name + " says that it has " + std::to_string(key->iov_len) +
                " bytes (iov_len), but its memory has only " + std::to_string(key->iov_buf_len) +
                " (iov_buf_len): give both, for example with d_iov_set()");
    if (has_number_keys(oid, level) && key->iov_len != number_.size())
        invalid(std::string("the ") + name + " has " + std::to_string(key->iov_len) +
                " bytes, and those of this type of object are numbers of 8 bytes");
    is_number_ = is_turned(oid, level);
    if (is_number_) {
        std::uint64_t number;
        std::memcpy(&number, key->iov_buf, sizeof number);
        store_big(number_.data(), number);
        return;
    }
    bytes_ = CallerBytes({static_cast<const std::byte*>(key->iov_buf), key->iov_len}, runs_later);
}

} // namespace stepstore::daos

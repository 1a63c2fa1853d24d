#include "store/lmdb/index/transactions.h"

#include "store/lmdb/index/pages.h"
#include "store/lmdb/sharing/errors.h"

#include <daos_errno.h>

#include <algorithm>

namespace stepstore::store::lmdb {

namespace {

MDB_val mdb_value(Bytes bytes)
{
    return {bytes.size(), const_cast<std::byte*>(bytes.data())};
}

Bytes bytes_of(const MDB_val& value)
{
    return {static_cast<const std::byte*>(value.mv_data), value.mv_size};
}

bool possible_key(Bytes key)
{
    return !key.empty() && key.size() <= ReadTransaction::max_key;
}

} // namespace

bool LmdbWrite::get(Bytes key, Bytes& value)
{
    if (!changed_) return base_.get(key, value);
    if (!possible_key(key)) return false;
    base_.require_sound_for_lookup(key);
    MDB_val wanted = mdb_value(key);
    MDB_val found;
    const int result = mdb_get(transaction_, database_, &wanted, &found);
    if (result == MDB_NOTFOUND) return false;
    if (result != 0) fail(result, where_, "cannot read");
    value = bytes_of(found);
    return true;
}

int LmdbWrite::move(MDB_cursor_op operation)
{
    if (cursor_ == nullptr) {
        if (const int result = mdb_cursor_open(transaction_, database_, &cursor_); result != 0)
            fail(result, where_, "cannot open a cursor");
    }
    return mdb_cursor_get(cursor_, &key_, &value_, operation);
}

bool LmdbWrite::give(int result, Entry& entry)
{
    if (result == MDB_NOTFOUND) {
        astray_ = true;
        return false;
    }
    if (result != 0) fail(result, where_, "cannot read on");
    if (key_.mv_size == 0 || key_.mv_size > kept_.size()) fail(MDB_CORRUPTED, where_, "cannot read a key");
    placed_ = true;
    astray_ = false;
    position_ = bytes_of(key_);
    entry = {position_, bytes_of(value_)};
    return true;
}

bool LmdbWrite::seek(Bytes key, Entry& entry)
{
    if (!changed_) return base_.seek(key, entry);
    base_.require_sound_for_lookup(key);
    key_ = mdb_value(key);
    return give(key.empty() ? move(MDB_FIRST) : move(MDB_SET_RANGE), entry);
}

bool LmdbWrite::seek_last(Bytes key, Entry& entry)
{
    if (!changed_) return base_.seek_last(key, entry);
    base_.require_sound_for_lookup(key);
    if (key.empty()) return false;
    key_ = mdb_value(key);
    int result = move(MDB_SET_RANGE);
    if (result == 0)
        result = move(MDB_PREV);
    else if (result == MDB_NOTFOUND)
        result = move(MDB_LAST);
    return give(result, entry);
}

bool LmdbWrite::next(Entry& entry)
{
    if (!changed_) return base_.next(entry);
    base_.require_sound_for_lookup(placed_ ? position_ : Bytes{});
    if (!placed_) return false;
    if (astray_) {
        key_ = mdb_value(position_);
        const int result = move(MDB_SET_RANGE);
        if (result != 0 || compare(bytes_of(key_), position_) != 0) return give(result, entry);
    }
    return give(move(MDB_NEXT), entry);
}

bool LmdbWrite::previous(Entry& entry)
{
    if (!changed_) return base_.previous(entry);
    if (placed_ && astray_) return seek_last(position_, entry);
    base_.require_sound_for_lookup(placed_ ? position_ : Bytes{});
    return placed_ && give(move(MDB_PREV), entry);
}

void LmdbWrite::before_change()
{
    if (!changed_ && !base_.position().empty()) {
        position_ = base_.position();
        placed_ = true;
    }
    changed_ = true;
    if (!placed_ || position_.data() == kept_.data()) return;
    std::ranges::copy(position_, kept_.begin());
    position_ = Bytes(kept_).first(position_.size());
    astray_ = true;
}

void LmdbWrite::close_cursor()
{
    if (cursor_ != nullptr) mdb_cursor_close(cursor_);
    cursor_ = nullptr;
}

std::byte* LmdbWrite::store(Bytes key, Bytes value, unsigned flags)
{
    if (!possible_key(key)) {
        throw Error(-DER_INVAL, where_ + ": a key of " + std::to_string(key.size()) + " bytes: give 1 to " +
                                    std::to_string(ReadTransaction::max_key) + " bytes");
    }
    base_.require_sound_for_put(key, value.size());
    before_change();
    MDB_val name = mdb_value(key);
    MDB_val content = mdb_value(value);
    const int result = mdb_put(transaction_, database_, &name, &content, flags);
    if (result == MDB_MAP_FULL) {
        map_full_ = true;
        wanted_ = value.size();
        throw MapFull{wanted_};
    }
    if (result != 0)
        fail(result, where_, "cannot store a value of " + std::to_string(value.size()) + " bytes");
    return static_cast<std::byte*>(content.mv_data);
}

MutableBytes LmdbWrite::reserve(Bytes key, std::size_t length)
{
    // With MDB_RESERVE only the length of what is handed over counts.
    return {store(key, {static_cast<const std::byte*>(nullptr), length}, MDB_RESERVE), length};
}

bool LmdbWrite::erase(Bytes key)
{
    if (!possible_key(key)) return false;
    base_.require_sound_for_erase(key);
    before_change();
    MDB_val name = mdb_value(key);
    const int result = mdb_del(transaction_, database_, &name, nullptr);
    if (result == MDB_NOTFOUND) return false;
    if (result == MDB_MAP_FULL) {
        map_full_ = true;
        throw MapFull{0};
    }
    if (result != 0) fail(result, where_, "cannot erase");
    return true;
}

} // namespace stepstore::store::lmdb

#include "daos/key_query.h"

#include "daos/extent_listing.h"

#include <algorithm>
#include <vector>

namespace stepstore::daos {
namespace {

constexpr std::uint64_t kinds = DAOS_GET_DKEY | DAOS_GET_AKEY | DAOS_GET_RECX;
constexpr std::uint64_t ends = DAOS_GET_MAX | DAOS_GET_MIN;

void require_number(const store::ObjectId& oid, Level level, const daos_key_t& key)
{
    const std::string name = level_name(level);
    if (!has_number_keys(oid, level))
        invalid("the " + name + "s of this type of object are not 64-bit numbers, so none is the highest");
    if (key.iov_buf_len < sizeof(std::uint64_t))
        invalid("there is no room for a " + name + ": give 8 bytes (iov_buf_len)");
    require(key.iov_buf, name.c_str());
}

void put(daos_key_t& key, bool found, std::uint64_t number)
{
    key.iov_len = found ? sizeof number : 0;
    if (found) std::memcpy(key.iov_buf, &number, sizeof number);
}

// Keys of key-value objects are in the machine's order in the store too.
std::uint64_t number_of_key(const store::ObjectId& oid, Level level, Bytes stored)
{
    std::array<std::byte, 8> turned;
    std::uint64_t number;
    std::memcpy(&number, key_for_caller(stored, is_turned(oid, level), turned).data(), sizeof number);
    return number;
}

} // namespace

KeyQuery::KeyQuery(const store::ObjectId& oid, std::uint64_t flags, daos_key_t* dkey, daos_key_t* akey,
                   daos_recx_t* recx, bool runs_later)
    : flags_(flags), dkey_out_(dkey), akey_out_(akey), recx_out_(recx)
{
    if (recx) *recx = {};
    if ((flags & kinds) == 0)
        invalid("the flags do not say what is looked for: DAOS_GET_DKEY, DAOS_GET_AKEY, DAOS_GET_RECX");
    if ((flags & ends) == 0 || (flags & ends) == ends)
        invalid("the flags ask for neither or both of DAOS_GET_MAX and DAOS_GET_MIN: give one");
    require(dkey, "dkey");
    if (wants(DAOS_GET_DKEY))
        require_number(oid, Level::dkey, *dkey);
    else
        dkey_.take(oid, Level::dkey, dkey, runs_later);
    if (wants(DAOS_GET_RECX)) require(recx, "recx");
    if (!wants(DAOS_GET_AKEY | DAOS_GET_RECX)) return;
    require(akey, "akey");
    if (wants(DAOS_GET_AKEY))
        require_number(oid, Level::akey, *akey);
    else
        akey_.take(oid, Level::akey, akey, runs_later);
}

// The highest or lowest number that suits; its key is tried in the store's form.
bool KeyQuery::find_first(Level level, std::vector<std::uint64_t>& numbers, std::uint64_t& found,
                          FunctionRef<bool(Bytes key)> suits) const
{
    const auto later = [this](std::uint64_t a, std::uint64_t b) {
        return wants(DAOS_GET_MAX) ? a < b : a > b;
    };
    std::ranges::make_heap(numbers, later);
    while (!numbers.empty()) {
        found = numbers.front();
        std::array<std::byte, 8> key;
        if (is_turned(object_->oid(), level))
            store_big(key.data(), found);
        else
            std::memcpy(key.data(), &found, sizeof found);
        if (suits(key)) return true;
        std::ranges::pop_heap(numbers, later);
        numbers.pop_back();
    }
    return false;
}

void KeyQuery::run(const ObjectResource& object, const Moment& epoch)
{
    object_ = &object;
    epoch_ = epoch;
    if (!wants(DAOS_GET_DKEY)) {
        found_ = find_in(dkey_.view());
        epoch_.turn.reset(); // the caller may take its time before tell()
        return;
    }
    std::vector<std::uint64_t> numbers;
    store::ListPosition position;
    object.run(epoch, [&](store::Container& in) {
        in.dkey_list(
            object.oid(), position,
            [&](Bytes dkey) {
                if (dkey.size() == sizeof(std::uint64_t))
                    numbers.push_back(number_of_key(object.oid(), Level::dkey, dkey));
                return true;
            },
            epoch);
    });
    found_ = find_first(Level::dkey, numbers, found_dkey_, [&](Bytes dkey) { return find_in(dkey); });
    epoch_.turn.reset();
}

bool KeyQuery::find_in(Bytes dkey)
{
    if (!wants(DAOS_GET_AKEY)) return !wants(DAOS_GET_RECX) || find_in(dkey, akey_.view());
    std::vector<std::uint64_t> numbers;
    store::ListPosition position;
    object_->run(epoch_, [&](store::Container& in) {
        in.akey_list(
            object_->oid(), dkey, position,
            [&](Bytes akey, store::AkeyType type) {
                if (akey.size() == sizeof(std::uint64_t) &&
                    (type == store::AkeyType::array || !wants(DAOS_GET_RECX)))
                    numbers.push_back(number_of_key(object_->oid(), Level::akey, akey));
                return true;
            },
            epoch_);
    });
    return find_first(Level::akey, numbers, found_akey_,
                      [&](Bytes akey) { return !wants(DAOS_GET_RECX) || find_in(dkey, akey); });
}

bool KeyQuery::find_in(Bytes dkey, Bytes akey)
{
    const StoredArray array{*object_, dkey, akey, epoch_};
    const auto found = wants(DAOS_GET_MAX) ? array.last() : array.first();
    if (found) found_records_ = *found;
    return found.has_value();
}

void KeyQuery::tell() const
{
    if (wants(DAOS_GET_DKEY)) put(*dkey_out_, found_, found_dkey_);
    if (wants(DAOS_GET_AKEY)) put(*akey_out_, found_, found_akey_);
    if (wants(DAOS_GET_RECX) && found_) *recx_out_ = {found_records_.index, found_records_.length};
}

} // namespace stepstore::daos

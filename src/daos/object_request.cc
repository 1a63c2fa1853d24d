#include "daos/object_request.h"

#include "store/failure.h"

#include <algorithm>
#include <cstdlib>

namespace stepstore::daos {
namespace {

constexpr std::uint64_t akey_updates = DAOS_COND_AKEY_INSERT | DAOS_COND_AKEY_UPDATE;
constexpr std::uint64_t of_updates = DAOS_COND_DKEY_INSERT | DAOS_COND_DKEY_UPDATE | akey_updates;
constexpr std::uint64_t of_fetches = DAOS_COND_DKEY_FETCH | DAOS_COND_AKEY_FETCH;

// per_akey: those that DAOS_COND_PER_AKEY excludes.
void require_conditions(std::uint64_t flags, std::uint64_t foreign, std::uint64_t per_akey, const char* what)
{
    if ((flags & (foreign | DAOS_COND_PUNCH)) != 0)
        invalid(std::string("the flags have a condition that is not one of ") + what);
    if ((flags & DAOS_COND_PER_AKEY) != 0 && (flags & per_akey) != 0)
        invalid(
            "the flags have DAOS_COND_PER_AKEY and a condition on akeys: give the conditions in iod_flags "
            "alone");
}

// As in libdaos, of two conditions the one on an update counts.
store::Condition update_condition(std::uint64_t flags, std::uint64_t update, std::uint64_t insert)
{
    if ((flags & update) != 0) return store::Condition::must_exist;
    return (flags & insert) != 0 ? store::Condition::must_not_exist : store::Condition::none;
}

store::AkeyType type_of(const daos_iod_t& iod)
{
    switch (number_of(iod.iod_type)) {
    case DAOS_IOD_SINGLE:
        if (iod.iod_nr != 1) invalid("an akey with a single value has iod_nr 1");
        return store::AkeyType::single;
    case DAOS_IOD_ARRAY: return store::AkeyType::array;
    default:
        invalid("iod_type is " + std::to_string(number_of(iod.iod_type)) +
                ": give DAOS_IOD_SINGLE or DAOS_IOD_ARRAY");
    }
}

template <class Memory>
void take_ranges(AkeyPart<Memory>& part, const daos_iod_t& iod)
{
    if (iod.iod_nr == 0) invalid("an akey with an array has no ranges: give at least one in iod_recxs");
    require(iod.iod_recxs, "iod_recxs");
    part.ranges = Listed<store::Range>(iod.iod_nr);
    for (std::uint32_t i = 0; i < iod.iod_nr; ++i) {
        const daos_recx_t& given = iod.iod_recxs[i];
        if (given.rx_nr == 0) invalid("a range of records is empty (rx_nr 0)");
        if (given.rx_idx >> 63 != 0) invalid("a range of records begins at 2^63 or above");
        if (given.rx_nr > (std::uint64_t{1} << 63) - given.rx_idx)
            throw Error(-DER_OVERFLOW, "the records from " + std::to_string(given.rx_idx) + ", " +
                                           std::to_string(given.rx_nr) + " of them, end above 2^63");
        part.ranges[i] = {given.rx_idx, given.rx_nr};
        part.records += given.rx_nr;
    }
    require_disjoint(part.ranges.all(), "records");
}

template <class Memory>
void take_memory(AkeyPart<Memory>& part, const d_sg_list_t& sgl)
{
    const std::uint32_t pieces = pieces_of(&sgl);
    part.memory = Listed<Memory>(pieces);
    for (std::uint32_t i = 0; i < pieces; ++i) {
        if constexpr (std::is_same_v<Memory, Bytes>) {
            part.memory[i] = used_memory(sgl, i);
        } else {
            const d_iov_t& piece = sgl.sg_iovs[i];
            if (piece.iov_buf_len > 0) require(piece.iov_buf, "a piece of memory in sgl");
            part.memory[i] = {static_cast<std::byte*>(piece.iov_buf), piece.iov_buf_len};
        }
        if (__builtin_add_overflow(part.room, part.memory[i].size(), &part.room))
            invalid("the memory of an akey has 2^64 bytes or more");
    }
}

// Bytes of all the records.
template <class Memory>
std::uint64_t bytes_of(const AkeyPart<Memory>& part, std::uint64_t record_size)
{
    std::uint64_t bytes = record_size;
    if (part.type == store::AkeyType::array && __builtin_mul_overflow(record_size, part.records, &bytes))
        invalid("the records of an akey have 2^64 bytes or more");
    return bytes;
}

template <class Memory>
void require_room(const AkeyPart<Memory>& part, std::uint64_t bytes)
{
    if (bytes > part.room)
        throw Error(-DER_REC2BIG, "akey " + store::quoted(part.akey.view()) + " has " +
                                      std::to_string(bytes) + " bytes in this call, and its memory " +
                                      std::to_string(part.room));
}

// The first bytes of the memory.
void cut(Listed<Bytes>& memory, std::uint64_t bytes)
{
    for (std::size_t i = 0; i < memory.size(); ++i) {
        memory[i] = memory[i].first(std::min<std::uint64_t>(memory[i].size(), bytes));
        bytes -= memory[i].size();
    }
}

void require_akeys(unsigned nr, const daos_iod_t* iods)
{
    if (nr == 0) invalid("the call names no akey: give at least one iod");
    require(iods, "iods");
}

} // namespace

UpdateRequest::UpdateRequest(const store::ObjectId& oid, std::uint64_t flags, const daos_key_t* dkey,
                             unsigned nr, const daos_iod_t* iods, const d_sg_list_t* sgls, bool runs_later)
    : dkey_(oid, Level::dkey, dkey, runs_later),
      of_dkey_(update_condition(flags, DAOS_COND_DKEY_UPDATE, DAOS_COND_DKEY_INSERT))
{
    require_conditions(flags, of_fetches, akey_updates, "an update");
    require_akeys(nr, iods);
    parts_ = std::vector<AkeyPart<Bytes>>(nr);
    updates_ = Listed<store::AkeyUpdate>(nr);
    std::uint64_t all_bytes = 0;
    for (unsigned i = 0; i < nr; ++i) {
        const daos_iod_t& iod = iods[i];
        AkeyPart<Bytes>& part = parts_[i];
        part.akey.take(oid, Level::akey, &iod.iod_name, runs_later);
        part.type = type_of(iod);
        if (part.type == store::AkeyType::array) take_ranges(part, iod);
        if (iod.iod_size != DAOS_REC_ANY) {
            require(sgls, "sgls");
            take_memory(part, sgls[i]);
            const std::uint64_t bytes = bytes_of(part, iod.iod_size);
            require_room(part, bytes);
            cut(part.memory, bytes);
            all_bytes += bytes;
        }
        const std::uint64_t given = (flags & DAOS_COND_PER_AKEY) != 0 ? iod.iod_flags : flags;
        updates_[i] = {.akey = part.akey.view(),
                       .type = part.type,
                       .record_size = iod.iod_size,
                       .ranges = part.ranges.all(),
                       .memory = part.memory.all(),
                       .condition = update_condition(given, DAOS_COND_AKEY_UPDATE, DAOS_COND_AKEY_INSERT)};
    }
    require_different_akeys();
    if (!runs_later || all_bytes >= travels_with_request) return;
    for (auto& part : parts_)
        for (std::size_t i = 0; i < part.memory.size(); ++i)
            part.memory[i] = taken_.emplace_back(part.memory[i], true).view();
}

bool UpdateRequest::has_conditions() const
{
    return of_dkey_ != store::Condition::none ||
           std::ranges::any_of(updates_.all(), [](const store::AkeyUpdate& one) {
               return one.condition != store::Condition::none;
           });
}

void UpdateRequest::run_unconditionally(store::Container& in, const store::ObjectId& oid) const
{
    const auto all = updates_.all();
    std::vector<store::AkeyUpdate> updates(all.begin(), all.end());
    for (store::AkeyUpdate& update : updates)
        update.condition = store::Condition::none;
    in.akey_update(oid, dkey_.view(), updates, store::Condition::none);
}

void UpdateRequest::require_different_akeys() const
{
    if (parts_.size() < 2) return;
    std::vector<Bytes> akeys;
    akeys.reserve(parts_.size());
    for (const auto& part : parts_)
        akeys.push_back(part.akey.view());
    std::ranges::sort(akeys, [](Bytes a, Bytes b) { return compare(a, b) < 0; });
    const auto same = std::ranges::adjacent_find(akeys, [](Bytes a, Bytes b) { return compare(a, b) == 0; });
    if (same != akeys.end())
        throw Error(-DER_NO_PERM, "the update names akey " + store::quoted(*same) +
                                      " twice: merge the two, or use two calls");
}

FetchRequest::FetchRequest(const store::ObjectId& oid, std::uint64_t flags, const daos_key_t* dkey,
                           unsigned nr, daos_iod_t* iods, d_sg_list_t* sgls, daos_iom_t* ioms,
                           bool runs_later)
    : dkey_(oid, Level::dkey, dkey, runs_later), dkey_must_exist_((flags & DAOS_COND_DKEY_FETCH) != 0),
      iods_(iods), sgls_(sgls), ioms_(ioms)
{
    require_conditions(flags, of_updates, DAOS_COND_AKEY_FETCH, "a fetch");
    require_akeys(nr, iods);
    parts_ = std::vector<FetchPart>(nr);
    fetches_ = std::vector<store::AkeyFetch>(nr);
    for (unsigned i = 0; i < nr; ++i) {
        const daos_iod_t& iod = iods[i];
        FetchPart& part = parts_[i];
        part.akey.take(oid, Level::akey, &iod.iod_name, runs_later);
        part.type = type_of(iod);
        const bool is_array = part.type == store::AkeyType::array;
        if (is_array && !sgls && iod.iod_size != DAOS_REC_ANY)
            invalid("an array is fetched without sgls, which looks up the size of its records: set iod_size "
                    "to DAOS_REC_ANY");
        if (is_array && (sgls || (iod.iod_nr > 0 && iod.iod_recxs))) take_ranges(part, iod);
        if (sgls) {
            take_memory(part, sgls[i]);
            if (iod.iod_size != DAOS_REC_ANY) require_room(part, bytes_of(part, iod.iod_size));
        }
        const std::uint64_t given = (flags & DAOS_COND_PER_AKEY) != 0 ? iod.iod_flags : flags;
        fetches_[i].akey = part.akey.view();
        fetches_[i].type = part.type;
        fetches_[i].ranges = part.ranges.all();
        if (part.room > 0) fetches_[i].memory = part.memory.all();
        fetches_[i].must_exist = (given & DAOS_COND_AKEY_FETCH) != 0;
        if (!is_array) continue;
        fetches_[i].record_size = iod.iod_size;
        fetches_[i].stored = &part.stored;
    }
}

void FetchRequest::run(const ObjectResource& object, const Moment& epoch)
{
    const auto fetch = [&] {
        object.run(epoch, [&](store::Container& in) {
            in.akey_fetch(object.oid(), dkey_.view(), fetches_, epoch, dkey_must_exist_);
        });
    };
    try {
        fetch();
    } catch (const Error& error) {
        if (error.code() != -DER_REC2BIG) throw;
        too_big_ = std::current_exception();
    }
    if (too_big_) { // the sizes of all akeys, as DAOS gives them
        for (store::AkeyFetch& each : fetches_)
            each.memory = {};
        fetch();
    }
}

namespace {

// Where the last stored byte is in the memory: as DAOS, holes after it are not counted.
std::uint64_t filled(const FetchPart& part, const store::AkeyFetch& fetch)
{
    if (part.type == store::AkeyType::single) return fetch.record_size;
    std::uint64_t after = part.records; // those of the ranges that were looked at
    const auto ranges = part.ranges.all();
    for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
        after -= range->length;
        const std::uint64_t end = range->index + range->length;
        auto found = std::ranges::lower_bound(part.stored, end, {}, &store::Range::index);
        if (found == part.stored.begin()) continue;
        --found; // the last one that begins in the range, or before it
        const std::uint64_t found_end = std::min(end, found->index + found->length);
        if (found_end > range->index) return (after + found_end - range->index) * fetch.record_size;
    }
    return 0;
}

// As in libdaos, what lies after the data is left as it is.
void set_lengths(d_sg_list_t& sgl, std::uint64_t bytes)
{
    sgl.sg_nr_out = 0;
    while (bytes > 0 && sgl.sg_nr_out < sgl.sg_nr) {
        d_iov_t& piece = sgl.sg_iovs[sgl.sg_nr_out++];
        piece.iov_len = std::min<std::uint64_t>(piece.iov_buf_len, bytes);
        bytes -= piece.iov_len;
    }
}

void fill(daos_iom_t& map, const daos_iod_t& iod, std::span<const store::Range> stored)
{
    map.iom_type = iod.iod_type;
    map.iom_size = iod.iod_size;
    map.iom_nr_out = 0;
    map.iom_recx_lo = map.iom_recx_hi = {};
    if (stored.empty()) return;
    const auto recx = [](const store::Range& range) { return daos_recx_t{range.index, range.length}; };
    map.iom_recx_lo = recx(stored.front());
    map.iom_recx_hi = recx(stored.back());
    if ((map.iom_flags & DAOS_IOMF_DETAIL) == 0) return;
    if (!map.iom_recxs) {
        map.iom_recxs = static_cast<daos_recx_t*>(std::malloc(stored.size() * sizeof(daos_recx_t)));
        if (!map.iom_recxs) throw std::bad_alloc();
        map.iom_nr = static_cast<std::uint32_t>(stored.size());
    }
    map.iom_nr_out = static_cast<std::uint32_t>(stored.size());
    std::ranges::transform(stored.first(std::min<std::size_t>(map.iom_nr, stored.size())), map.iom_recxs,
                           recx);
}

} // namespace

void FetchRequest::tell()
{
    for (std::size_t i = 0; i < parts_.size(); ++i)
        tell(i);
    if (too_big_) std::rethrow_exception(too_big_);
}

void FetchRequest::tell(std::size_t i)
{
    const store::AkeyFetch& fetch = fetches_[i];
    const FetchPart& part = parts_[i];
    const bool nothing = fetch.stored && !part.ranges.all().empty() && part.stored.empty();
    iods_[i].iod_size = nothing ? 0 : fetch.record_size;
    if (too_big_) return;
    if (sgls_) set_lengths(sgls_[i], part.room > 0 ? filled(part, fetch) : 0);
    if (ioms_) fill(ioms_[i], iods_[i], part.stored);
}

} // namespace stepstore::daos

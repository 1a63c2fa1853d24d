#include "daos/key_listing.h"

#include <algorithm>
#include <cstring>

namespace stepstore::daos {
namespace {

// In da_buf: target (4 bytes, little-endian), length (1), key (96).
constexpr std::size_t key_at = 5;
constexpr std::uint32_t type_dkey = 2, type_akey = 3; // kd_val_type, as libdaos gives it
static_assert(key_at + std::tuple_size_v<decltype(store::ListPosition::key)> <= DAOS_ANCHOR_BUF_MAX);

store::ListPosition load(const daos_anchor_t& anchor)
{
    store::ListPosition position;
    if (anchor.da_type == DAOS_ANCHOR_TYPE_ZERO) return position;
    std::array<std::byte, DAOS_ANCHOR_BUF_MAX> buffer;
    std::memcpy(buffer.data(), anchor.da_buf, sizeof anchor.da_buf);
    position.target = load_little<std::uint32_t>(buffer.data());
    position.length = static_cast<std::uint8_t>(buffer[4]);
    if (anchor.da_type != DAOS_ANCHOR_TYPE_KEY || position.length > position.key.size())
        invalid("the anchor does not belong to a listing: set it to zeroes to begin one");
    std::memcpy(position.key.data(), &buffer[key_at], position.key.size());
    return position;
}

// Fills the pieces of a list one after the other; nothing is split over two of them.
class Pieces {
public:
    explicit Pieces(d_sg_list_t& list) : list_(list) {}

    bool append(Bytes bytes)
    {
        for (std::uint32_t at = at_; at < list_.sg_nr; ++at) {
            const d_iov_t& piece = list_.sg_iovs[at];
            const std::size_t used = at == at_ ? used_ : 0;
            if (bytes.size() > piece.iov_buf_len - used) continue;
            std::memcpy(static_cast<char*>(piece.iov_buf) + used, bytes.data(), bytes.size());
            if (at != at_) close_until(at);
            used_ += bytes.size();
            return true;
        }
        return false;
    }

    void finish()
    {
        if (used_ > 0) close_until(at_ + 1);
        list_.sg_nr_out = at_;
        if (at_ == 0) return; // without a key libdaos leaves the lengths as they are
        for (std::uint32_t at = at_; at < list_.sg_nr; ++at)
            list_.sg_iovs[at].iov_len = 0;
    }

private:
    void close_until(std::uint32_t next)
    {
        for (; at_ < next; ++at_) {
            list_.sg_iovs[at_].iov_len = used_;
            used_ = 0;
        }
    }

    d_sg_list_t& list_;
    std::uint32_t at_ = 0;
    std::size_t used_ = 0;
};

} // namespace

void require_listing(const std::uint32_t* nr, const daos_key_desc_t* kds, const d_sg_list_t* sgl,
                     const daos_anchor_t* anchor)
{
    require(nr, "nr");
    require(kds, "kds");
    require(sgl, "sgl");
    require(anchor, "anchor");
    if (*nr == 0 || sgl->sg_nr == 0)
        invalid("the call has no room for a key: give at least one descriptor and one piece of memory");
    require(sgl->sg_iovs, "sgl->sg_iovs");
    for (std::uint32_t i = 0; i < sgl->sg_nr; ++i)
        if (sgl->sg_iovs[i].iov_buf_len > 0) require(sgl->sg_iovs[i].iov_buf, "a piece of memory in sgl");
}

void set_anchor(const store::ListPosition& position, daos_anchor_t& anchor)
{
    std::array<std::byte, DAOS_ANCHOR_BUF_MAX> buffer{};
    store_little(buffer.data(), position.target);
    buffer[4] = static_cast<std::byte>(position.length);
    std::memcpy(&buffer[key_at], position.key.data(), position.key.size());
    std::memcpy(anchor.da_buf, buffer.data(), sizeof anchor.da_buf);
    anchor.da_type = position.done ? DAOS_ANCHOR_TYPE_EOF : DAOS_ANCHOR_TYPE_KEY;
}

void list_keys(const ObjectResource& object, Level level, bool is_turned, KeyWalk walk, std::uint32_t* nr,
               daos_key_desc_t* kds, d_sg_list_t* sgl, daos_anchor_t* anchor)
{
    const std::uint32_t room = *nr;
    if (anchor->da_type == DAOS_ANCHOR_TYPE_EOF) {
        *nr = 0;
        sgl->sg_nr_out = 0;
        return;
    }
    auto position = load(*anchor);
    Pieces pieces(*sgl);
    std::uint32_t count = 0;
    std::size_t too_long = 0;
    walk(position, [&](Bytes stored) {
        std::array<std::byte, 8> number;
        const Bytes key = key_for_caller(stored, is_turned, number);
        if (count == room) return false;
        if (!pieces.append(key)) {
            too_long = key.size();
            return false;
        }
        kds[count++] = {.kd_key_len = key.size(),
                        .kd_val_type = level == Level::dkey ? type_dkey : type_akey};
        return true;
    });
    if (count == 0 && too_long > 0) {
        kds[0].kd_key_len = too_long;
        throw Error(-DER_KEY2BIG, "the next key of " + object.name() + " has " + std::to_string(too_long) +
                                      " bytes: give a piece of memory that is as large");
    }
    pieces.finish();
    *nr = count;
    set_anchor(position, *anchor);
}

} // namespace stepstore::daos

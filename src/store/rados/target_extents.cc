// Extents: objects of at most piece_size bytes each, written before an update refers to them and never
// changed. Many are in flight at once.
#include "base/clock.h"
#include "stepstore/error.h"
#include "store/rados/errors.h"
#include "store/rados/target.h"

#include <daos_errno.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace stepstore::store::rados {

namespace {

constexpr std::size_t most_lengths = 8192;

std::string hex(std::uint64_t number)
{
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
    return text;
}

// The parts of a range that lie in one piece each.
template <class Each>
void for_each_piece(std::uint64_t from, std::uint64_t to, Each each)
{
    for (std::uint64_t at = from; at < to;) {
        const std::uint64_t piece = at / piece_size;
        const std::uint64_t end = std::min(to, (piece + 1) * piece_size);
        each(piece, at % piece_size, end - at, at - from);
        at = end;
    }
}

} // namespace

std::string RadosTarget::piece_name(std::uint64_t file, std::uint64_t piece) const
{
    return objects_ + ".x." + std::to_string(number_) + "." + hex(file) + "." + std::to_string(piece);
}

// The pieces, each as one operation.
void RadosTarget::write_pieces(std::uint64_t file, std::span<const Payload> payloads)
{
    Io::Batch batch(data_);
    librados::ObjectWriteOperation operation;
    std::uint64_t now = UINT64_MAX, bytes = 0; // the piece that the operation is of
    const auto flush = [&] {
        if (now != UINT64_MAX) batch.write(piece_name(file, now), operation, std::exchange(bytes, 0));
        operation = librados::ObjectWriteOperation();
    };
    for (const Payload& payload : payloads) {
        std::uint64_t at = payload.extent.offset;
        for (const Bytes& part : payload.pieces) {
            for_each_piece(
                at, at + part.size(),
                [&](std::uint64_t piece, std::uint64_t offset, std::uint64_t length, std::uint64_t done) {
                    if (piece != now) {
                        flush();
                        now = piece;
                    }
                    operation.write(offset, to_buffer(as_text(part.subspan(done, length))));
                    bytes += length;
                });
            at += part.size();
        }
    }
    flush();
    const int code = batch.wait();
    if (code < 0) index_.failed(code, "cannot write an extent");
}

ExtentRef RadosTarget::append(std::span<Payload> payloads)
{
    std::uint64_t end = 0;
    for (Payload& payload : payloads) {
        std::uint64_t length = 0;
        for (const Bytes& piece : payload.pieces)
            length += piece.size();
        payload.extent = {0, end, length};
        end = reservation_of({0, 0, end + length}).length;
    }
    if (end == 0) return {};
    Lane& lane = lanes_.take();
    const std::uint64_t file = lane.file();
    for (Payload& payload : payloads)
        payload.extent.file = file;
    const std::uint64_t pieces = (end + piece_size - 1) / piece_size;
    try {
        if (pieces > lane.record.pieces) { // so that a process that cleans up finds them all
            const LaneRecord more{lane.record.published, static_cast<std::uint32_t>(pieces)};
            librados::ObjectWriteOperation operation;
            operation.assert_exists();
            operation.omap_cmp({{lane.key(), {to_buffer(lane.record.encoded()), LIBRADOS_CMPXATTR_OP_EQ}}},
                               nullptr);
            operation.omap_set({{lane.key(), to_buffer(more.encoded())}});
            const int code = io_.write(index_.object, operation).code;
            if (code < 0) index_.failed(code, "cannot announce a large value");
            lane.record = more;
        }
        write_pieces(file, payloads);
    } catch (...) {
        try {
            remove_pieces(file, pieces);
            lanes_.settle(lane, false);
        } catch (...) { // a process that cleans up finds them
            lanes_.abandon(lane);
        }
        throw;
    }
    bulk_bytes_ += static_cast<std::int64_t>(end);
    const std::lock_guard lock(guard_);
    if (lengths_.size() >= most_lengths) lengths_.clear();
    lengths_[file] = end;
    return {file, 0, end};
}

void RadosTarget::remove_pieces(std::uint64_t file, std::uint64_t count)
{
    Io::Batch batch(data_);
    for (std::uint64_t piece = 0; piece < count; ++piece) {
        librados::ObjectWriteOperation operation;
        operation.remove();
        batch.write(piece_name(file, piece), operation);
    }
    const int code = batch.wait();
    if (code < 0 && code != -ENOENT) index_.failed(code, "cannot remove an extent");
}

// An append that nothing will refer to. False: something does.
bool RadosTarget::withdraw(std::uint64_t file)
{
    Lane* lane = lanes_.taken_for(file);
    if (lane == nullptr) return true;
    if (lane->in_doubt) {
        // Once the lane's record is gone, the update that may still be on its way is refused.
        lanes_.abandon(*lane);
        librados::ObjectWriteOperation operation;
        operation.assert_exists();
        operation.omap_cmp({{lane->key(), {to_buffer(lane->record.encoded()), LIBRADOS_CMPXATTR_OP_EQ}}},
                           nullptr);
        operation.omap_rm_keys({lane->key()});
        if (io_.write(index_.object, operation).code != 0) return false; // published, or not to be told
        return true;
    }
    return true;
}

void RadosTarget::release(const ExtentRef& extent)
{
    if (extent.length == 0) return;
    Lane* lane = lanes_.taken_for(extent.file);
    const bool in_doubt = lane != nullptr && lane->in_doubt;
    if (!withdraw(extent.file)) return;
    if (lane != nullptr) {
        remove_pieces(extent.file, (extent.offset + extent.length + piece_size - 1) / piece_size);
        if (!in_doubt) lanes_.settle(*lane, false);
        bulk_bytes_ -= static_cast<std::int64_t>(reservation_of(extent).length);
        const std::lock_guard lock(guard_);
        lengths_.erase(extent.file);
        return;
    }
    const ExtentRef reservation = reservation_of(extent);
    std::shared_ptr<Drop> drop;
    {
        const std::lock_guard lock(guard_);
        if (const auto found = drops_.find({extent.file, extent.offset}); found != drops_.end()) {
            drop = found->second;
            drops_.erase(found);
        }
    }
    release_pieces(reservation, [this, drop] { dropped(drop); });
}

void RadosTarget::dropped(const std::shared_ptr<Drop>& drop)
{
    if (!drop) return;
    const std::lock_guard lock(guard_);
    if (--drop->left != 0) return;
    notes_done_.insert(drop->key);
    --notes_open_;
}

// Whole pieces are removed, and nobody waits for that. Of a part of a piece the piece itself keeps a note.
// When the notes cover the piece it is removed.
void RadosTarget::release_pieces(const ExtentRef& reservation, std::function<void()> done)
{
    std::uint64_t length = 0; // of the file, where this process knows it
    {
        const std::lock_guard lock(guard_);
        if (const auto found = lengths_.find(reservation.file); found != lengths_.end())
            length = found->second;
        if (reservation.offset == 0 && reservation.length >= length) lengths_.erase(reservation.file);
    }
    auto left = std::make_shared<std::atomic<std::uint64_t>>(1);
    const auto one_done = [left, done = std::move(done)](int code) {
        if ((code == 0 || code == -ENOENT) && --*left == 0) done();
    };
    for_each_piece(reservation.offset, reservation.offset + reservation.length,
                   [&](std::uint64_t piece, std::uint64_t offset, std::uint64_t part, std::uint64_t) {
                       ++*left;
                       const std::string name = piece_name(reservation.file, piece);
                       bool whole = offset == 0 && (part == piece_size ||
                                                    (length != 0 && piece * piece_size + part >= length));
                       if (!whole) {
                           PieceState state = look_at_piece(name);
                           if (state.code == -ENOENT) return one_done(0);
                           Cover released;
                           released.add(big(offset, 8), big(offset + part, 8));
                           for (const auto& [from, to] : state.released)
                               released.add(big(from, 8), big(to, 8));
                           const std::string* end = released.end_at(big(0, 8));
                           whole = end != nullptr && *end >= big(state.size, 8);
                       }
                       librados::ObjectWriteOperation operation;
                       operation.assert_exists();
                       if (whole) {
                           operation.remove();
                       } else {
                           const Buffer end = to_buffer(big(offset + part, 8));
                           if (notes_in_omap())
                               operation.omap_set({{big(offset, 8), end}});
                           else
                               operation.setxattr(hex(offset).c_str(), end);
                           operation.zero(offset, part);
                       }
                       bulk_bytes_ -= static_cast<std::int64_t>(part);
                       data_.write_behind(name, operation, one_done);
                   });
    one_done(0);
}

// All of them are in flight together, as far as a Batch lets them.
void RadosTarget::read_together(std::span<Wanted> all)
{
    struct Part {
        Wanted& of;
        const std::uint64_t length, at;
        Buffer bytes = {};
        int code = 0, result = 0;
    };
    std::deque<Part> parts;
    {
        Io::Batch batch(data_);
        for (Wanted& one : all) {
            const ExtentRef& extent = one.extent;
            one.lost = one.skip > extent.length || one.into.size() > extent.length - one.skip ||
                       extent.offset > UINT64_MAX - extent.length;
            if (one.lost || one.into.empty()) continue;
            const std::uint64_t from = extent.offset + one.skip;
            for_each_piece(
                from, from + one.into.size(),
                [&](std::uint64_t piece, std::uint64_t offset, std::uint64_t length, std::uint64_t at) {
                    Part& part = parts.emplace_back(Part{one, length, at});
                    librados::ObjectReadOperation operation;
                    operation.read(offset, length, &part.bytes, &part.result);
                    batch.read(piece_name(extent.file, piece), operation, &part.code, length);
                });
        }
    }
    if (!parts.empty()) note_read();
    for (Part& part : parts) {
        if (part.code < 0 && part.code != -ENOENT) index_.failed(part.code, "cannot read an extent");
        if (part.code == -ENOENT || part.bytes.length() != part.length)
            part.of.lost = true;
        else
            part.bytes.begin().copy(static_cast<unsigned>(part.length),
                                    reinterpret_cast<char*>(part.of.into.data() + part.at));
    }
}

void RadosTarget::read_extent(const ExtentRef& extent, std::uint64_t skip, MutableBytes into)
{
    Wanted one{extent, skip, into};
    read_together({&one, 1});
    if (!one.lost) return;
    throw Error(-DER_CSUM, index_.where + ": extent " + hex(extent.file) + " at " +
                               std::to_string(extent.offset) + " does not hold the " +
                               std::to_string(into.size()) + " bytes that were asked for");
}

void RadosTarget::read_spilled(std::span<SpilledValue> values)
{
    std::vector<Wanted> all;
    all.reserve(values.size());
    for (SpilledValue& one : values) {
        one.bytes.resize(one.extent.length);
        all.push_back({one.extent, 0, {reinterpret_cast<std::byte*>(one.bytes.data()), one.bytes.size()}});
    }
    read_together(all);
    for (std::size_t at = 0; at < values.size(); ++at)
        values[at].lost = all[at].lost;
}

} // namespace stepstore::store::rados

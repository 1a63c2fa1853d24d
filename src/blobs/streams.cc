// Blobs that are read and written piece by piece.
#include "blobs/blobs.h"
#include "blobs/state.h"
#include "blobs/sums.h"
#include "client/in_doubt.h"

#include <daos_errno.h>

#include <algorithm>
#include <cstring>

namespace stepstore::blobs {

// ---- reading

Reader::Reader(Blobs blobs, std::string key, Version version)
    : blobs_(std::move(blobs)), key_(std::move(key)), version_(std::move(version))
{
}

std::uint64_t Reader::size() const
{
    return blobs_.state_->decode(key_, version_).size();
}

void Reader::read(Slice slice, Room room) const
{
    if (blobs_.state_->read(key_, blobs_.state_->decode(key_, version_), slice, room)) return;
    throw Error(-DER_NONEXIST,
                blobs_.name_of(key_) + " was replaced or deleted while it was read: open it again");
}

bool Reader::is_current() const
{
    return blobs_.state_->entry(key_) == version_;
}

void Reader::copy_to(Writer& writer) const
{
    const std::uint64_t all = size();
    std::vector<std::byte> part;
    for (std::uint64_t at = 0; at < all; at += piece) {
        const auto end = static_cast<std::int64_t>(std::min(at + piece, all));
        read({static_cast<std::int64_t>(at), end}, [&](std::size_t bytes) {
            part.resize(bytes);
            return MutableBytes(part);
        });
        writer.write(part);
    }
}

// ---- writing

struct Writer::State : NotCopied {
    Blobs blobs;
    std::string key;
    Put put;
    std::vector<std::byte> small; // until the first piece that is not
    std::unique_ptr<Numbers::Use> use;
    std::optional<Array> array;
    Sums sums; // where the pool does not verify the array
    std::uint64_t size = 0;
    bool closed = false;

    State(Blobs in, const std::string& name, Put how) : blobs(std::move(in)), key(name), put(how) {}

    Numbers& numbers() const { return blobs.state_->numbers; }
    bool keeps_sums() const { return blobs.state_->keeps_sums; }
    void append(Bytes bytes)
    {
        if (bytes.empty()) return;
        array->write(size, bytes);
        if (keeps_sums()) sums.add(bytes);
        size += bytes.size();
    }
    void begin_array()
    {
        use = numbers().take();
        array.emplace(numbers().object(use->number()));
        size = 0;
        try {
            append(small);
        } catch (...) { // all is as it was
            numbers().destroy(use->number());
            array.reset();
            use.reset();
            size = small.size();
            throw;
        }
    }
    // All of it is stored after this.
    std::vector<std::byte> entry()
    {
        if (!array) return small_entry(small);
        if (!keeps_sums()) return array_entry_of(use->number(), size, std::nullopt);
        const std::vector<std::byte> list = sums.list();
        array->write(sums_at(size), list);
        return array_entry_of(use->number(), size, Bytes(list));
    }
    void end()
    {
        closed = true;
        array.reset();
        use.reset();
        small = {};
    }
};

Writer::Writer(Blobs blobs, const std::string& key, Put put)
    : state_(std::make_shared<State>(std::move(blobs), key, put))
{
    require_key(key);
}

Writer::~Writer()
{
    discard();
}

Writer::Writer(Writer&&) noexcept = default;

void Writer::write(Bytes bytes)
{
    State& state = *state_;
    if (state.closed)
        throw Error(-DER_NO_HDL,
                    state.blobs.name_of(state.key) + ": this writer is closed: open another one");
    if (!state.array && state.size + bytes.size() <= largest_small) {
        state.small.insert(state.small.end(), bytes.begin(), bytes.end());
        state.size += bytes.size();
        return;
    }
    if (!state.array) state.begin_array();
    state.append(bytes);
}

bool Writer::close()
{
    State& state = *state_;
    if (state.closed) return true;
    state.closed = true;
    struct End {
        State& state;
        ~End() { state.end(); }
    } end{state};
    Blobs::State& to = *state.blobs.state_;
    if (!state.array) return to.publish(state.key, state.entry(), state.put);
    std::vector<std::byte> entry;
    try {
        entry = state.entry();
    } catch (...) {
        to.numbers.destroy(state.use->number());
        throw;
    }
    return to.publish_array(state.key, state.use->number(), entry, state.put);
}

bool Writer::close_if(const std::optional<Version>& expected)
{
    State& state = *state_;
    Blobs::State& to = *state.blobs.state_;
    bool done = false;
    try {
        const auto there = expected ? std::optional<Bytes>(*expected) : std::nullopt;
        done = to.directory.put_if(state.key, there, state.entry());
    } catch (const Error& error) {
        if (!is_in_doubt(error)) {
            discard();
        } else {
            if (state.array) state.numbers().keep(state.use->number());
            state.end();
        }
        throw;
    }
    if (!done) return false;
    state.end();
    if (expected) to.free(*expected);
    return true;
}

void Writer::discard() noexcept
{
    if (!state_.mine() || state_->closed) return;
    if (state_->array) state_->numbers().destroy(state_->use->number());
    state_->end();
}

std::uint64_t Writer::size() const
{
    return state_->size;
}

bool Writer::is_closed() const
{
    return state_->closed;
}

void Writer::read(std::uint64_t start, MutableBytes into) const
{
    if (into.empty()) return;
    if (start + into.size() > state_->size)
        throw Error(-DER_INVAL, state_->blobs.name_of(state_->key) + ": only " +
                                    std::to_string(state_->size) +
                                    " bytes were written so far: read no further");
    if (state_->array)
        state_->array->read(start, into);
    else
        std::memcpy(into.data(), state_->small.data() + start, into.size());
}

// ---- appending

Appender::Appender(Blobs blobs, std::string key)
    : blobs_(std::move(blobs)), key_(std::move(key)), begun_(begin())
{
}

Appender::Begun Appender::begin() const
{
    while (true) {
        const auto reader = blobs_.reader(key_);
        Begun begun{std::nullopt, 0, std::make_unique<Writer>(blobs_, key_)};
        if (!reader) return begun;
        try {
            reader->copy_to(*begun.writer);
        } catch (const Error& error) {
            if (error.code() != -DER_NONEXIST || reader->is_current()) throw;
            continue;
        }
        begun.before = reader->version();
        begun.size_before = reader->size();
        return begun;
    }
}

void Appender::close()
{
    if (is_closed()) return;
    while (!begun_.writer->close_if(begun_.before)) {
        Begun next = begin();
        std::vector<std::byte> part;
        for (std::uint64_t at = begun_.size_before; at < size(); at += piece) {
            part.resize(static_cast<std::size_t>(std::min<std::uint64_t>(piece, size() - at)));
            begun_.writer->read(at, part);
            next.writer->write(part);
        }
        begun_ = std::move(next);
    }
}

} // namespace stepstore::blobs

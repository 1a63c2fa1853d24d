// Writing and reading records: little-endian fixed integers and LEB128 varints. Reading is checked: any
// bytes whatever end in a value or in an Error (-DER_DF_INVAL), never beyond the end.
// Threads: a reader or writer is for one.
#pragma once

#include "base/bytes.h"
#include "stepstore/error.h"

#include <daos_errno.h>

#include <string>
#include <string_view>
#include <vector>

namespace stepstore {

class WireWriter {
public:
    explicit WireWriter(std::vector<std::byte>& to) : to_(to) {}

    template <class T>
    void fixed(T value)
    {
        if constexpr (sizeof(T) == 1) {
            to_.push_back(static_cast<std::byte>(value));
        } else {
            std::byte stored[sizeof(T)];
            store_little(stored, value);
            append(stored, sizeof(T));
        }
    }
    void varint(std::uint64_t value)
    {
        while (value >= 0x80) {
            to_.push_back(static_cast<std::byte>(value | 0x80));
            value >>= 7;
        }
        to_.push_back(static_cast<std::byte>(value));
    }
    void bytes(Bytes bytes) { append(bytes.data(), bytes.size()); }
    void text(std::string_view text)
    {
        varint(text.size());
        bytes(as_bytes(text));
    }
    std::size_t size() const { return to_.size(); }

private:
    // Not inlined: GCC 12 then warns of bytes beyond an empty vector.
    [[gnu::noinline]] void append(const std::byte* from, std::size_t length)
    {
        to_.insert(to_.end(), from, from + length);
    }

    std::vector<std::byte>& to_;
};

class WireReader {
public:
    // what: names the thing that is read, for messages ("the definitions of rank 3 in step 7").
    WireReader(Bytes from, std::string_view what) : from_(from), what_(what) {}

    bool at_end() const { return at_ == from_.size(); }
    std::size_t left() const { return from_.size() - at_; }

    template <class T>
    T fixed()
    {
        need(sizeof(T));
        const T value = load_little<T>(from_.data() + at_);
        at_ += sizeof(T);
        return value;
    }
    std::uint64_t varint()
    {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            need(1);
            const auto byte = static_cast<std::uint64_t>(from_[at_++]);
            if (shift == 63 && byte > 1) break;
            value |= (byte & 0x7f) << shift;
            if (byte < 0x80) return value;
        }
        fail("holds a number of more than 64 bits");
    }
    // A varint that counts things. Each takes at least `least` of the bytes that are left, so a damaged count
    // cannot ask for more memory than the record's own size allows.
    std::uint64_t counted(std::size_t least)
    {
        const std::uint64_t count = varint();
        if (count > left() / (least == 0 ? 1 : least)) fail("counts more than it holds");
        return count;
    }
    Bytes bytes(std::uint64_t length)
    {
        need(length);
        const Bytes part = from_.subspan(at_, length);
        at_ += length;
        return part;
    }
    std::string_view text() { return as_text(bytes(varint())); }

    [[noreturn]] void fail(std::string_view why) const
    {
        throw Error(-DER_DF_INVAL,
                    std::string(what_) + " " + std::string(why) + " (at byte " + std::to_string(at_) +
                        " of " + std::to_string(from_.size()) +
                        "): the record is damaged; `stepstore pool check` says what can be saved");
    }

private:
    void need(std::uint64_t length) const
    {
        if (length > from_.size() - at_) fail("ends too early");
    }

    Bytes from_;
    std::string_view what_;
    std::size_t at_ = 0;
};

} // namespace stepstore

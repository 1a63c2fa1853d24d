// What stored records are made of: a frame or a checksum that says whether they are whole, and tagged fields.
//
// A frame stands before its body: magic (4), version and least version that a reader must know (Version
// each), checksum of the body (8). Fields are tag (2), length (varint), value. All numbers are little-endian.
//
// Threads: any; pure. Errors: -DER_DF_INVAL, -DER_CSUM, -DER_DF_INCOMPT; unseal_end() gives nullopt.
#pragma once

#include "base/checksum.h"
#include "base/process.h"
#include "base/wire.h"

#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace stepstore {

// ---- a frame in front
template <class Version>
inline constexpr std::size_t frame_size_of = 4 + 2 * sizeof(Version) + 8;

// Fills the frame of `record`, which begins with frame_size_of<Version> bytes of room.
template <class Version>
void seal_frame(std::vector<std::byte>& record, std::uint32_t magic, Version version)
{
    std::byte* at = record.data();
    store_little(at, magic);
    store_little(at + 4, version);
    store_little(at + 4 + sizeof version, version);
    store_little(at + 4 + 2 * sizeof version, checksum(Bytes(record).subspan(frame_size_of<Version>)));
}

template <class Version>
struct Unsealed {
    Bytes body;
    Version least; // version that a reader must know
};
// what: for messages. -DER_DF_INVAL, -DER_CSUM: damaged; -DER_DF_INCOMPT: a reader must know more than
// `newest`.
template <class Version>
Unsealed<Version> unseal_frame(Bytes record, std::uint32_t magic, Version newest, const std::string& what)
{
    WireReader from(record, what);
    if (from.fixed<std::uint32_t>() != magic) from.fail("does not begin with its magic number");
    const auto version = from.fixed<Version>();
    const auto least = from.fixed<Version>();
    if (least > newest)
        throw Error(-DER_DF_INCOMPT, what + " has format version " + std::to_string(version) +
                                         "; this library reads up to version " + std::to_string(newest) +
                                         ": use a newer Stepstore");
    const auto sum = from.fixed<std::uint64_t>();
    const Bytes body = record.subspan(frame_size_of<Version>);
    if (sum != checksum(body))
        throw Error(
            -DER_CSUM,
            what + " is damaged: its checksum does not match; `stepstore pool check` says what can be saved");
    return {body, least};
}

// ---- a checksum after
inline constexpr std::size_t checksum_size = 8;

// Puts the checksum of all before into the last 8 bytes.
inline void seal_end(MutableBytes record)
{
    const std::size_t end = record.size() - checksum_size;
    store_little(record.data() + end, checksum(Bytes(record).first(end)));
}
inline void append_checksum(std::vector<std::byte>& record)
{
    record.resize(record.size() + checksum_size);
    seal_end(record);
}
// The record without the checksum at its end; nullopt: it does not match.
inline std::optional<Bytes> unseal_end(Bytes record)
{
    if (record.size() < checksum_size) return std::nullopt;
    const Bytes body = record.first(record.size() - checksum_size);
    if (load_little<std::uint64_t>(body.data() + body.size()) != checksum(body)) return std::nullopt;
    return body;
}

// ---- tagged fields
// A reader passes over fields that it does not know, except those whose tag has this bit.
inline constexpr std::uint16_t must_know = 0x8000;

// Numbers and enumerations take 8 bytes.
template <class T>
concept NumberField = std::integral<T> || std::is_enum_v<T>;

inline void write_field(WireWriter& to, std::uint16_t tag, Bytes value)
{
    to.fixed(tag);
    to.varint(value.size());
    to.bytes(value);
}
inline void write_field(WireWriter& to, std::uint16_t tag, std::string_view value)
{
    write_field(to, tag, as_bytes(value));
}
template <NumberField T>
void write_field(WireWriter& to, std::uint16_t tag, T value)
{
    std::byte bytes[8];
    store_little(bytes, static_cast<std::uint64_t>(value));
    write_field(to, tag, Bytes(bytes));
}

inline void read_field(Bytes value, std::string& into, std::string_view)
{
    into = as_text(value);
}
template <NumberField T>
void read_field(Bytes value, T& into, std::string_view what)
{
    const WireReader at_start(value, what);
    const auto number = WireReader(value, what).fixed<std::uint64_t>();
    into = static_cast<T>(number);
    if (static_cast<std::uint64_t>(into) != number) at_start.fail("has a number that is too large");
}

// take: bool(tag, value), false for a field that it does not know. -DER_DF_INCOMPT: that must be known.
template <class Take>
void read_fields(Bytes body, const std::string& what, Take take)
{
    for (WireReader from(body, what); !from.at_end();) {
        const auto tag = from.fixed<std::uint16_t>();
        const Bytes value = from.bytes(from.varint());
        if (!take(tag, value) && (tag & must_know) != 0)
            throw Error(-DER_DF_INCOMPT, what + " uses a feature (field " + std::to_string(tag & ~must_know) +
                                             ") that this library does not know: use a newer Stepstore");
    }
}

// ---- what several records have
inline void write_process(WireWriter& to, const ProcessIdentity& process)
{
    to.fixed(process.process);
    to.fixed(process.started);
    to.text(process.host);
    to.text(process.machine);
}
inline ProcessIdentity read_process(WireReader& from)
{
    ProcessIdentity process;
    process.process = from.fixed<std::uint64_t>();
    process.started = from.fixed<std::uint64_t>();
    process.host = from.text();
    process.machine = from.text();
    return process;
}

} // namespace stepstore

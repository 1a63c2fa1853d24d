#include "fuzz.h"

// With the checksum of a header, which is its own.
#include "store/record.cc"

#include "store/akeys/akeys.h"
#include "store/keys.h"
#include "store/pool_core.h"
#include "store/removal.h"
#include "store/sealed.h"
#include "store/transaction/pending.h"
#include "store/user_attributes.h"

namespace stepstore::store {
namespace {

// One record, whatever is asked for.
class OneRecord final : public ReadTransaction {
public:
    OneRecord(Bytes key, Bytes value) : key_(key), value_(value) {}
    std::uint64_t version() const override { return 1; }
    const Capabilities& capabilities() const override { return path_form.capabilities; }
    ExtentRef value_extent() const override { return {}; }
    NetworkTransaction* network() override { return nullptr; }
    bool get(Bytes key, Bytes& value) override
    {
        value = value_;
        return equal(key, key_);
    }
    bool seek(Bytes key, Entry& entry) override { return found(compare(key_, key) >= 0, entry); }
    bool seek_last(Bytes key, Entry& entry) override { return found(compare(key_, key) < 0, entry); }
    bool next(Entry&) override { return false; }
    bool previous(Entry&) override { return false; }

private:
    bool found(bool there, Entry& entry) const
    {
        entry = {key_, value_};
        return there;
    }
    static int compare(Bytes a, Bytes b)
    {
        const int order = std::memcmp(a.data(), b.data(), std::min(a.size(), b.size()));
        return order != 0 ? order : a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
    }
    Bytes key_, value_;
};

std::vector<std::byte> sealed(Bytes key, Bytes body)
{
    std::vector<std::byte> all(key.begin(), key.end());
    all.insert(all.end(), body.begin(), body.end());
    std::vector<std::byte> value(8);
    store_little(value.data(), checksum(all));
    value.insert(value.end(), body.begin(), body.end());
    return value;
}

} // namespace

FUZZ(store, akey)
{
    const fuzz::Copy copy(input.bytes(input.below(300)));
    const Bytes whole = copy;
    SplitKey key;
    if (split(whole, key) && !equal(AkeyKey(key.dkey, key.akey, key.type).whole(), whole)) __builtin_trap();
    std::vector<std::byte> dkey;
    dkey_of(whole, dkey);
    const fuzz::Copy payload(input.rest());
    const Bytes piece = payload;
    Record record;
    record.type = RecordType::inlined;
    record.length = piece.size();
    record.payload = piece;
    record.payload_sum = checksum_of({&piece, 1});
    ArrayDescription array;
    if (parse_description(record, array) == nullptr && array.record_size == 0) __builtin_trap();
}

FUZZ(store, record)
{
    const fuzz::Copy key(input.bytes(input.below(64)));
    std::vector<std::byte> value(8);
    const Bytes rest = input.rest();
    value.insert(value.end(), rest.begin(), rest.end());
    if (value.size() >= header_size) {
        const auto type = static_cast<RecordType>(value[16]);
        const std::size_t long_key = long_key_size(value.data());
        const std::size_t covered =
            type == RecordType::inlined ? header_size + body_size(type, long_key, 0) : value.size();
        if (covered <= value.size())
            store_little(value.data(),
                         header_sum(key, Bytes(value).subspan(8, covered - 8), value.size() - covered));
    }
    const fuzz::Copy copy(value);
    Record record;
    if (parse_record(key, copy, record) != nullptr) return;
    payload_intact(record);
    fuzz::touch(record.long_key);
    fuzz::touch(record.payload);
    fuzz::touch(record.sums);
    if (record.type != RecordType::bulk) return;
    fuzz::require(record.length <= INT64_MAX, "the length of a payload");
    fuzz::require(block_count(record.length, record.block_shift) == record.sums.size() / 8, "the checksums");
}

FUZZ(store, key)
{
    const fuzz::Copy copy(input.rest());
    const Bytes key = copy;
    scope_size(key);
    ParsedKey parsed;
    if (!parse_key(key, parsed)) return;
    fuzz::touch(parsed.place);
    KeyBuffer stored;
    if (parsed.kind == Kind::keyvalue && parsed.space == Space::history && unescape(parsed.place, stored))
        fuzz::require(stored.size() <= max_stored_key, "the size of a key");
}

FUZZ(store, container)
{
    ContainerRecord record;
    if (decode_container(fuzz::Copy(input.rest()), record))
        fuzz::require(record.label.find('/') == std::string::npos && record.label != "..", "a label");
}

FUZZ(store, user_attribute)
{
    UserAttribute attribute;
    if (!decode_user_attribute(fuzz::Copy(input.rest()), attribute)) return;
    fuzz::require(attribute.name.size() <= longest_user_attribute_name, "the length of a name");
    fuzz::touch(attribute.value);
}

FUZZ(store, snapshot)
{
    SnapshotRecord record;
    decode_snapshot(fuzz::Copy(input.rest()), record);
    fuzz::touch(record.name);
}

FUZZ(store, pending)
{
    const fuzz::Copy mark(input.bytes(input.below(64)));
    Epoch newest = 0;
    std::optional<PendingNote> note;
    if (decode_mark(mark, newest, note) && note.has_value() != (Bytes(mark).size() == 40)) __builtin_trap();
    const fuzz::Copy body(input.rest());
    UndoRecord undo;
    if (decode_undo(body, undo) && undo.key.size() > ReadTransaction::max_key) __builtin_trap();
}

FUZZ(store, removal)
{
    const fuzz::Copy note(input.rest());
    Record record;
    record.type = RecordType::inlined;
    record.payload = note;
    record.payload_sum = checksum(note);
    std::optional<Removal> removal;
    if (parse_note(record, removal) != nullptr) return;
    for (const std::uint64_t chunk : {std::uint64_t{0}, removal->from.chunk, UINT64_MAX})
        removal->left_of(chunk, removal->epoch);
}

FUZZ(store, pool_header)
{
    const KeyBuffer key = meta_key(MetaSpace::header);
    const fuzz::Copy value(sealed(key.view(), input.rest()));
    OneRecord meta(key.view(), value);
    fuzz::touch(read_pool_header(meta, "/pool").label);
}

FUZZ(store, target_header)
{
    const KeyBuffer key(Space::header);
    const fuzz::Copy value(sealed(key.view(), input.rest()));
    OneRecord target(key.view(), value);
    verify_target_header(target, "/pool", Uuid{}, 0);
}

} // namespace stepstore::store

#include "fields/dataset.h"

#include "fields/index_row.h"
#include "fields/record.h"
#include "fields/session.h"
#include "fields/writer.h"

#include <daos_errno.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>

namespace stepstore::fields {

namespace {

constexpr std::size_t shown_key = 200;
constexpr std::size_t cache_limit = 128 << 20; // bytes of index that a dataset keeps in memory, about

} // namespace

// What this process has of it.
struct Dataset::Own {
    std::mutex writing; // of OwnState::field_dataset: guards writer
    std::unique_ptr<Writer> writer;
    std::mutex reading; // of OwnState::field_dataset: guards the two below
    std::unordered_map<std::string, std::shared_ptr<IndexRow>> rows;
    std::shared_ptr<std::atomic<std::size_t>> bytes = std::make_shared<std::atomic<std::size_t>>(0);
};

std::string_view name_of(Control control)
{
    switch (control) {
    case Control::retrieve: return "retrieve";
    case Control::list: return "list";
    case Control::archive: return "archive";
    case Control::wipe: break;
    }
    return "wipe";
}

Dataset::Dataset(std::shared_ptr<Session> session, std::string text, Container container,
                 DatasetRecord record)
    : session_(std::move(session)), text_(std::move(text)), container_(std::move(container)),
      key_value_(container_.key_value(main_id(container_), session_->access())), record_(std::move(record)),
      index_id_(container_.object_id(0, index_hi, ObjectType::key_value, record_.options.index_class)),
      data_id_(container_.object_id(0, data_hi, ObjectType::array_bytes, record_.options.data_class)),
      own_([] { return std::make_unique<Own>(); })
{
}

Dataset::~Dataset() = default;

std::string Dataset::name() const
{
    const std::string shown = text_.size() <= shown_key ? text_ : text_.substr(0, shown_key) + "...";
    return "dataset " + shown + " of pool " + session_->location();
}

void Dataset::collocations(const std::function<bool(const Key&)>& each) const
{
    std::vector<std::string> texts = keys_with(collocation_prefix);
    std::ranges::sort(texts); // a key-value lists its keys in no promised order
    for (const std::string& text : texts)
        if (!each(Key::parse(text))) return;
}

std::vector<std::string> Dataset::keys_with(std::string_view prefix) const
{
    std::vector<std::string> names;
    guarded([&] {
        key_value_.list([&](std::string_view key) {
            if (key.starts_with(prefix)) names.emplace_back(key.substr(prefix.size()));
            return true;
        });
    });
    return names;
}

void Dataset::set_enabled(Control control, bool enabled)
{
    const std::string key = control_prefix + std::string(name_of(control));
    guarded([&] {
        if (enabled)
            key_value_.remove(key);
        else
            key_value_.put(key, as_bytes("off"));
    });
}

bool Dataset::enabled(Control control) const
{
    const std::string key = control_prefix + std::string(name_of(control));
    return guarded([&] { return !key_value_.get_nonempty(key).has_value(); });
}

void Dataset::require_enabled(Control control) const
{
    if (!enabled(control))
        throw Error(-DER_NO_PERM, name() + ": it is locked (" + std::string(name_of(control)) +
                                      " is switched off): unlock it first");
}

std::optional<std::string> Dataset::attribute(const std::string& name) const
{
    const auto value = guarded([&] { return key_value_.get(attribute_prefix + name); });
    if (!value) return std::nullopt;
    return std::string(as_text(*value));
}

bool Dataset::has_attribute(const std::string& name) const
{
    return guarded([&] { return key_value_.get_nonempty(attribute_prefix + name).has_value(); });
}

void Dataset::set_attribute(const std::string& name, std::string_view value)
{
    guarded([&] { key_value_.put(attribute_prefix + name, as_bytes(value)); });
}

void Dataset::remove_attribute(const std::string& name)
{
    guarded([&] { key_value_.remove(attribute_prefix + name); });
}

std::vector<std::string> Dataset::attributes() const
{
    return keys_with(attribute_prefix);
}

bool Dataset::is_there() const
{
    return session_->root_entry(text_) == container_.label();
}

void Dataset::require_there() const
{
    if (!is_there()) throw Error(-DER_STALE, name() + " was wiped while it was open: open it again");
}

void Dataset::explain(const Error& error) const
{
    const int code = error.code();
    const bool missing = code == -DER_NONEXIST || code == -DER_CONT_NONEXIST;
    if (missing || code == -DER_NO_HDL) {
        bool there = true;
        try {
            there = is_there();
        } catch (const Error&) { // the first error says more
            throw error;
        }
        if (!there) require_there();
    }
    if (missing)
        throw Error(-DER_IO, name() +
                                 " is damaged, not wiped: the pool lists it, and a part of it is missing (" +
                                 error.what() + "). 'stepstore pool check " + session_->location() +
                                 "' says what can be saved");
    throw error;
}

std::uint64_t Dataset::allocate_numbers(std::uint64_t count)
{
    return guarded([&] { return container_.allocate_oids(count); });
}

// The upper halves are those of the ids made once: a class is looked for by its name among all there are.
ObjectId Dataset::index_id(std::uint64_t number) const
{
    return {index_id_.hi, number};
}

bool Dataset::index_in_one_place() const
{
    const std::string& index_class = record_.options.index_class;
    return index_class == "S1" || index_class == "RP_2G1";
}

KeyValue Dataset::open_key_value(const ObjectId& id) const
{
    return container_.key_value(id, session_->access());
}

Array Dataset::data_array(std::uint64_t object) const
{
    return data_array(object, record_.options.verify ? Verify::yes : Verify::no);
}

Array Dataset::data_array(std::uint64_t object, Verify verify) const
{
    return container_.open_array({data_id_.hi, object}, {1, record_.options.chunk_size}, session_->access(),
                                 verify);
}

Writer& Dataset::writer()
{
    Own& own = *own_;
    const std::lock_guard lock(own.writing);
    if (!own.writer) guarded([&] { own.writer = std::make_unique<Writer>(*this); });
    return *own.writer;
}

std::shared_ptr<IndexRow> Dataset::row(const std::string& collocation)
{
    Own& own = *own_;
    const std::lock_guard lock(own.reading);
    if (*own.bytes > cache_limit) own.rows.clear();
    auto& row = own.rows[collocation];
    if (!row) row = std::make_shared<IndexRow>(*this, collocation, own.bytes);
    return row;
}

} // namespace stepstore::fields

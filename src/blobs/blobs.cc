#include "blobs/blobs.h"

#include "blobs/state.h"
#include "blobs/sums.h"
#include "client/in_doubt.h"
#include "location/find/location.h"

#include <daos_errno.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace stepstore::blobs {

namespace {

const std::string hiding = "/";                         // the folder that hides a container
constexpr std::uint64_t much = std::uint64_t{64} << 20; // bytes

std::string as_folder(const std::string& folder)
{
    return folder.empty() || folder.ends_with('/') ? folder : folder + '/';
}

} // namespace

void require_key(const std::string& key)
{
    if (key.empty()) throw Error(-DER_INVAL, "the key of a blob is empty: give at least one character");
}

Part part_of(Slice slice, std::uint64_t size)
{
    const auto at = [&](std::int64_t index) {
        if (index >= 0) return std::min(static_cast<std::uint64_t>(index), size);
        const std::uint64_t before_end = 0 - static_cast<std::uint64_t>(index);
        return before_end >= size ? 0 : size - before_end;
    };
    const std::uint64_t first = at(slice.start);
    return {first, std::max(first, slice.stop ? at(*slice.stop) : size)};
}

// ---- the directory

Blobs::State::State(std::shared_ptr<Container> in, const std::string& pool, Access access)
    : container(std::move(in)), where(pool + "/" + container->label()),
      directory(
          container->key_value(container->object_id(0, directory_hi, ObjectType::key_value, "SX"), access)),
      lists_objects(capabilities_of(pool).own_store), keeps_sums(!capabilities_of(pool).verifies_cells),
      numbers(*container, where, lists_objects, [this] {
          std::unordered_set<std::uint64_t> named;
          for (const std::string& key : directory.list_below({})) {
              const auto found = entry(key);
              if (!found) continue;
              const Entry one = decode(key, *found);
              if (one.in_array()) named.insert(one.number);
          }
          return named;
      })
{
}

std::string Blobs::State::name_of(const std::string& key) const
{
    return "blob '" + key + "' in " + where; // an Error shows it on one line
}

std::optional<Version> Blobs::State::entry(const std::string& key) const
{
    auto found = directory.get(key);
    if (found) decode(key, *found);
    return found;
}

Entry Blobs::State::decode(const std::string& key, Bytes entry) const
{
    return decode_entry(entry, [&] { return name_of(key); });
}

bool Blobs::State::read(const std::string& key, const Entry& entry, Slice slice, Room room) const
{
    const Part part = part_of(slice, entry.size());
    if (entry.in_array() && part.size() > 0) {
        const Array array = numbers.object(entry.number, Access::read_only);
        // Only the entry says how many they are. So look, before much memory is taken for them, or for their
        // checksums.
        const bool summed = entry.kind == Kind::summed;
        if ((summed ? entry.bytes : part.size()) > much && array.size() < (summed ? entry.bytes : part.end))
            return false;
        const MutableBytes into = room(part.size());
        if (!summed) return array.read(part.first, into).cells_short == 0;
        return read_verified(array, entry, part, into, [&] { return name_of(key); });
    }
    const MutableBytes into = room(part.size());
    if (into.empty()) return true;
    std::memcpy(into.data(), entry.value.data() + part.first, into.size());
    return true;
}

bool Blobs::State::publish(const std::string& key, Bytes entry, Put put)
{
    if (put == Put::replace) {
        Replaced old;
        free(directory.exchange(key, entry, old), old);
        return true;
    }
    try {
        directory.put(key, entry, Condition::must_not_exist);
    } catch (const Error& error) {
        if (error.code() != -DER_EXIST) throw;
        return false;
    }
    return true;
}

bool Blobs::State::publish_array(const std::string& key, std::uint64_t number, Bytes entry, Put put)
{
    try {
        const bool published = publish(key, entry, put);
        if (!published) numbers.destroy(number);
        return published;
    } catch (const Error& error) {
        if (is_in_doubt(error))
            numbers.keep(number);
        else
            numbers.destroy(number);
        throw;
    }
}

void Blobs::State::free(std::optional<std::size_t> size, const Replaced& replaced) const noexcept
{
    if (size && *size <= replaced.size()) free(Bytes(replaced).first(*size));
}

void Blobs::State::free(Bytes replaced) const noexcept
{
    Entry old;
    if (decode_entry(replaced, old) && old.in_array()) numbers.destroy(old.number);
}

bool Blobs::State::take(const std::string& key)
{
    Replaced old;
    const auto size = directory.take(key, old);
    free(size, old);
    return size.has_value();
}

// ---- opening

Blobs::Blobs(std::shared_ptr<Container> container, const std::string& pool, Access access)
    : state_(std::make_shared<State>(std::move(container), pool, access))
{
}

Blobs Blobs::open(const std::string& location, Access access, std::uint64_t snapshot)
{
    const Location found = resolve_location(location);
    if (found.stream_given)
        throw Error(-DER_INVAL, location + " names more than a container: use POOL[/CONTAINER]");
    const bool writes = access == Access::read_write;
    if (writes && snapshot != 0)
        throw Error(-DER_INVAL, location + ": a snapshot cannot be written to: open it for reading");
    if (writes)
        require_place_for_pool(found, location);
    else
        require_pool(found, location);
    const Pool pool =
        writes ? Pool::connect_or_create(found.pool) : Pool::connect(found.pool, Access::read_only);
    Container container = writes ? pool.open_or_create_container(found.container)
                                 : pool.open_container(found.container, Access::read_only);
    if (snapshot != 0) container = container.at_snapshot(snapshot);
    return {std::make_shared<Container>(std::move(container)), found.pool, access};
}

const Container& Blobs::container() const
{
    return *state_->container;
}

std::string Blobs::name_of(const std::string& key) const
{
    return state_->name_of(key);
}

std::uint64_t Blobs::take_back() const
{
    return state_->lists_objects ? state_->numbers.take_back() : 0;
}

void Blobs::leave() const noexcept
{
    state_->numbers.leave();
}

// ---- reading

Found Blobs::read(const std::string& key, Slice slice, Room room, std::uint64_t most) const
{
    std::array<std::byte, longest_entry> bytes, before; // a small value is copied once, into the caller's
    std::size_t size_before = 0;
    require_key(key);
    while (true) {
        const auto size = state_->directory.get_into(key, bytes);
        if (!size) return Found::no;
        if (*size > bytes.size()) refuse_entry(state_->directory.get(key).value_or(Version()), name_of(key));
        const Entry entry = state_->decode(key, Bytes(bytes).first(*size));
        if (entry.in_array() && part_of(slice, entry.bytes).size() >= most) return Found::large;
        if (state_->read(key, entry, slice, room)) return Found::yes;
        if (size_before == *size && std::equal(bytes.data(), bytes.data() + *size, before.data()))
            throw Error(-DER_CSUM,
                        name_of(key) +
                            ": its array object is missing, or shorter than the blob: check the pool");
        size_before = *size;
        std::copy_n(bytes.data(), *size, before.data());
    }
}

std::optional<std::vector<std::byte>> Blobs::read(const std::string& key, Slice slice) const
{
    std::vector<std::byte> value;
    const Found found = read(key, slice, [&](std::size_t size) {
        value.resize(size);
        return MutableBytes(value);
    });
    if (found == Found::no) return std::nullopt;
    return value;
}

std::optional<Info> Blobs::info(const std::string& key) const
{
    require_key(key);
    const auto found = state_->entry(key);
    if (!found) return std::nullopt;
    const Entry entry = state_->decode(key, *found);
    return Info{entry.size(), entry.modified, entry.number};
}

bool Blobs::exists(const std::string& key) const
{
    require_key(key);
    return state_->directory.get_into(key, {}).has_value();
}

std::optional<Reader> Blobs::reader(const std::string& key) const
{
    require_key(key);
    auto found = state_->entry(key);
    if (!found) return std::nullopt;
    return Reader(*this, key, std::move(*found));
}

// ---- listing

std::vector<std::string> Blobs::keys(const std::string& prefix) const
{
    std::vector<std::string> found = state_->directory.list_below(prefix);
    std::erase_if(found, [](const std::string& key) { return key.ends_with('/'); });
    return found;
}

std::vector<std::string> Blobs::children(const std::string& folder) const
{
    const std::string beginning = as_folder(folder);
    std::vector<std::string> names;
    for (const std::string& key : state_->directory.list_below(beginning, '/'))
        if (key.size() > beginning.size() && key != hiding) names.push_back(key.substr(beginning.size()));
    return names;
}

bool Blobs::is_folder(const std::string& folder) const
{
    return !state_->directory.list_below(as_folder(folder), '/').empty();
}

bool Blobs::is_hidden() const
{
    return exists(hiding) && children().empty();
}

// ---- writing

bool Blobs::write(const std::string& key, Bytes value, Put put) const
{
    require_key(key);
    State& state = *state_;
    if (value.size() <= largest_small) return state.publish(key, small_entry(value), put);
    const auto use = state.numbers.take();
    std::vector<std::byte> list;
    if (state.keeps_sums) {
        Sums sums;
        sums.add(value);
        list = sums.list();
    }
    try {
        const std::array ranges = {Range{0, value.size()}, Range{sums_at(value.size()), list.size()}};
        const std::array memory = {value, Bytes(list)};
        const std::size_t count = state.keeps_sums ? 2 : 1;
        state.numbers.object(use->number())
            .write(std::span(ranges).first(count), std::span(memory).first(count));
    } catch (...) {
        state.numbers.destroy(use->number());
        throw;
    }
    const auto entry = array_entry_of(use->number(), value.size(),
                                      state.keeps_sums ? std::optional<Bytes>(list) : std::nullopt);
    return state.publish_array(key, use->number(), entry, put);
}

void Blobs::touch(const std::string& key) const
{
    require_key(key);
    while (const auto there = state_->entry(key))
        if (state_->directory.put_if(key, Bytes(*there), touched(*there))) return;
    write(key, {}, Put::only_new);
}

void Blobs::append(const std::string& key, Bytes value) const
{
    Appender appender(*this, key);
    appender.write(value);
    appender.close();
}

bool Blobs::remove(const std::string& key) const
{
    require_key(key);
    return state_->take(key);
}

bool Blobs::remove(const std::string& key, Bytes version) const
{
    require_key(key);
    const bool removed = state_->directory.remove_if(key, version);
    if (removed) state_->free(version);
    return removed;
}

std::optional<Version> Blobs::copy(const std::string& key, const Blobs& into, const std::string& target) const
{
    while (const auto from = reader(key)) {
        try {
            Writer writer(into, target);
            from->copy_to(writer);
            writer.close();
            return from->version();
        } catch (const Error& error) {
            if (error.code() != -DER_NONEXIST || from->is_current()) throw;
        }
    }
    return std::nullopt;
}

bool Blobs::rename(const std::string& key, const std::string& target) const
{
    if (key == target) return exists(key);
    const auto version = copy(key, *this, target);
    if (version) remove(key, *version);
    return version.has_value();
}

void Blobs::make_folder(const std::string& folder) const
{
    require_key(folder);
    state_->directory.put(as_folder(folder), folder_entry());
}

std::uint64_t Blobs::remove_folder(const std::string& folder) const
{
    std::uint64_t removed = 0;
    for (const std::string& key : state_->directory.list_below(as_folder(folder)))
        if (key != hiding && state_->take(key)) ++removed;
    return removed;
}

void Blobs::hide() const
{
    state_->directory.put(hiding, folder_entry());
}

void Blobs::show() const
{
    if (exists(hiding)) state_->take(hiding);
}

} // namespace stepstore::blobs

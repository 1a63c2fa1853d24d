#include "dfs/entry.h"

#include "dfs/failure.h"
#include "dfs/request.h"

#include <algorithm>
#include <cstring>

namespace stepstore::dfs {
namespace {

constexpr std::size_t longest_attribute_key = DFS_MAX_XATTR_NAME + attribute_prefix.size();
constexpr std::size_t keys_at_once = 64;

void require_done_with(const Place& place, int code, const char* verb)
{
    require_done(code, [&] { return std::string(verb) + " the entry " + quoted(std::string(place.name)); });
}

void require_entry(int code, const char* verb, const Place& place)
{
    if (code == -DER_NONEXIST) fail(ENOENT, "there is no entry " + quoted(std::string(place.name)));
    require_done_with(place, code, verb);
}

void fetch_link(daos_handle_t th, const Place& place, Entry& entry)
{
    std::array<char, DFS_MAX_PATH> target;
    Request request;
    request.single(link_akey, target.data(), target.size());
    const int code = request.fetch(place.directory, th, 0, place.name);
    if (code != -DER_REC2BIG) require_done_with(place, code, "reading the link of");
    if (code != 0 || request.iods()[0].iod_size != entry.inode.size)
        fail(EIO, "the link " + quoted(std::string(place.name)) + " is damaged: its target has " +
                      std::to_string(request.iods()[0].iod_size) + " bytes, and its inode says " +
                      std::to_string(entry.inode.size));
    entry.link.assign(target.data(), entry.inode.size);
    if (entry.link.find('\0') != std::string::npos)
        fail(EIO, "the link " + quoted(std::string(place.name)) + " is damaged: its target has a zero byte");
}

// Akeys of an entry; what they refer to stays until the call.
void add_inode(Request& request, const InodeBytes& bytes)
{
    request.array(inode_akey);
    request.range(0, bytes.data(), bytes.size());
}

} // namespace

std::optional<Entry> fetch(daos_handle_t th, const Place& place, With with)
{
    InodeBytes inode;
    MarkBytes mark;
    const bool wants_mark = with == With::mark || with == With::all;
    Request request;
    add_inode(request, inode);
    if (wants_mark) request.single(mark_akey, mark.data(), mark.size());
    const int code = request.fetch(place.directory, th, DAOS_COND_DKEY_FETCH, place.name);
    if (code == -DER_NONEXIST) return std::nullopt;
    require_done_with(place, code == -DER_REC2BIG || code == -DER_INVAL ? -DER_IO : code, "reading");
    Entry entry{.inode = decode(inode, request.filled(0), std::string(place.name)), .link = {}, .mark = {}};
    if (wants_mark && request.iods()[1].iod_size != 0)
        entry.mark = decode_mark(mark, request.iods()[1].iod_size, place.name);
    if (entry.inode.is_link() && (with == With::link || with == With::all)) fetch_link(th, place, entry);
    return entry;
}

bool insert(const Place& place, const Entry& entry)
{
    return put(place, entry, {}, nullptr, {});
}

bool put(const Place& place, const Entry& entry, std::span<const Attribute> attributes, const Entry* replaced,
         std::span<const Attribute> old)
{
    const InodeBytes inode = encode(entry.inode);
    MarkBytes mark;
    Request request;
    add_inode(request, inode);
    if (entry.inode.is_link())
        request.single(link_akey, entry.link.data(), entry.link.size());
    else if (replaced && replaced->inode.is_link())
        request.single(link_akey, nullptr, 0);
    if (entry.mark) request.single(mark_akey, mark.data(), encode_mark(*entry.mark, mark));
    for (const Attribute& each : attributes)
        request.single(each.name, each.value.data(), each.value.size());
    for (const Attribute& each : old)
        if (std::ranges::find(attributes, each.name, &Attribute::name) == attributes.end())
            request.single(each.name, nullptr, 0);
    const int code =
        request.update(place.directory, replaced ? DAOS_COND_DKEY_UPDATE : DAOS_COND_DKEY_INSERT, place.name);
    if (code == (replaced ? -DER_NONEXIST : -DER_EXIST)) return false;
    require_done_with(place, code, "writing");
    return true;
}

std::vector<Attribute> attributes(daos_handle_t th, const Place& place)
{
    std::vector<Attribute> found;
    daos_anchor_t anchor{};
    while (!daos_anchor_is_eof(&anchor))
        for (std::string& akey : next_keys(th, place.directory, &place.name, keys_at_once, anchor))
            if (akey.starts_with(attribute_prefix)) found.push_back({std::move(akey), {}});
    for (Attribute& each : found) {
        each.value.resize(DFS_MAX_XATTR_LEN);
        Request request;
        request.single(each.name, each.value.data(), each.value.size());
        require_done_with(place, request.fetch(place.directory, th, 0, place.name), "reading attributes of");
        each.value.resize(request.iods()[0].iod_size);
    }
    std::erase_if(found, [](const Attribute& each) { return each.value.empty(); }); // removed meanwhile
    return found;
}

void update(const Place& place, std::span<const Field> fields)
{
    Request request;
    request.array(inode_akey);
    for (const Field& field : fields)
        request.range(field.offset, field.bytes, field.size);
    require_entry(request.update(place.directory, DAOS_COND_DKEY_UPDATE, place.name), "changing", place);
}

bool remove(const Place& place)
{
    daos_key_t key = key_of(place.name);
    const int code = daos_obj_punch_dkeys(place.directory, DAOS_TX_NONE, DAOS_COND_PUNCH, 1, &key, nullptr);
    if (code == -DER_NONEXIST) return false;
    require_done_with(place, code, "removing");
    return true;
}

bool set_mark(const Place& place, const Mark& mark)
{
    MarkBytes bytes;
    Request request;
    request.single(mark_akey, bytes.data(), encode_mark(mark, bytes));
    const int code =
        request.update(place.directory, DAOS_COND_DKEY_UPDATE | DAOS_COND_AKEY_INSERT, place.name);
    if (code == -DER_EXIST) return false;
    require_entry(code, "renaming", place);
    return true;
}

bool change_mark(const Place& place, const Mark& mark)
{
    MarkBytes bytes;
    Request request;
    request.single(mark_akey, bytes.data(), encode_mark(mark, bytes));
    const int code = request.update(place.directory, DAOS_COND_AKEY_UPDATE, place.name);
    if (code == -DER_NONEXIST) return false;
    require_done_with(place, code, "renaming");
    return true;
}

void clear_mark(const Place& place)
{
    daos_key_t key = key_of(place.name);
    daos_key_t akey = key_of(mark_akey);
    const int code =
        daos_obj_punch_akeys(place.directory, DAOS_TX_NONE, DAOS_COND_PUNCH, &key, 1, &akey, nullptr);
    if (code != -DER_NONEXIST) require_done_with(place, code, "renaming");
}

bool has_entries(daos_handle_t th, daos_handle_t directory)
{
    daos_anchor_t anchor{};
    while (!daos_anchor_is_eof(&anchor))
        if (!next_keys(th, directory, nullptr, 1, anchor).empty()) return true;
    return false;
}

std::vector<std::string> next_keys(daos_handle_t th, daos_handle_t object, const std::string_view* dkey,
                                   std::uint32_t most, daos_anchor_t& anchor)
{
    std::vector<daos_key_desc_t> described(most);
    std::vector<char> text(static_cast<std::size_t>(most) * longest_attribute_key);
    d_iov_t piece;
    d_iov_set(&piece, text.data(), text.size());
    d_sg_list_t list{1, 0, &piece};
    std::uint32_t count = most;
    daos_key_t key = dkey ? key_of(*dkey) : daos_key_t{};
    const int code =
        dkey ? daos_obj_list_akey(object, th, &key, &count, described.data(), &list, &anchor, nullptr)
             : daos_obj_list_dkey(object, th, &count, described.data(), &list, &anchor, nullptr);
    require_done(code == -DER_KEY2BIG ? -DER_IO : code, "listing a directory");
    std::vector<std::string> keys;
    std::size_t offset = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        keys.emplace_back(&text[offset], described[i].kd_key_len);
        offset += described[i].kd_key_len;
    }
    return keys;
}

} // namespace stepstore::dfs

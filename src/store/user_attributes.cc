#include "store/user_attributes.h"

#include "store/failure.h"

#include <algorithm>

namespace stepstore::store {

namespace {

class StoredAttributes final : public UserAttributes {
public:
    StoredAttributes(std::shared_ptr<Pool> pool, PoolCore& core, std::uint64_t container)
        : pool_(std::move(pool)), core_(core), container_(container), where_("pool " + core.path())
    {
    }

    void set(std::span<const NewUserAttribute> attributes) override
    {
        pool_->require_write("setting an attribute");
        for (const NewUserAttribute& one : attributes) {
            require_name(one.name);
            if (one.value.size() <= longest_user_attribute) continue;
            fail(DER_OVERFLOW, where_ + ": the attribute " + quoted(as_bytes(one.name)) + " has " +
                                   std::to_string(one.value.size()) + " bytes: give at most " +
                                   std::to_string(longest_user_attribute));
        }
        core_.storage().meta().write([&](WriteTransaction& meta) {
            require_owner(meta);
            for (const NewUserAttribute& one : attributes) {
                BodyWriter body;
                body.bytes(as_bytes(one.name)).bytes(one.value);
                put_sealed(meta, user_attribute_key(container_, one.name).view(), body.view());
            }
        });
    }

    void get(std::span<UserAttributeRead> reads) override
    {
        for (const UserAttributeRead& one : reads)
            require_name(one.name);
        const auto found = look_at(core_.storage().meta(), [&](ReadTransaction& meta) {
            require_owner(meta);
            std::vector<std::optional<UserAttribute>> all(reads.size());
            for (std::size_t i = 0; i < reads.size(); ++i)
                if (!look_up(meta, reads[i].name, all[i].emplace())) all[i].reset();
            return all;
        });
        for (std::size_t i = 0; i < reads.size(); ++i) {
            reads[i].size.reset();
            if (!found[i]) continue;
            const std::vector<std::byte>& value = found[i]->value;
            reads[i].size = value.size();
            std::copy_n(value.begin(), std::min(value.size(), reads[i].into.size()), reads[i].into.begin());
        }
    }

    std::vector<std::string> names() override
    {
        return look_at(core_.storage().meta(), [&](ReadTransaction& meta) {
            require_owner(meta);
            std::vector<std::string> all;
            const KeyBuffer prefix = user_attributes_of(container_);
            Entries entries(meta, prefix.view(), prefix.view());
            for (Entry entry; entries.next(entry);) {
                Bytes body;
                UserAttribute found;
                if (!unseal(entry.key, entry.value, body) || !decode_user_attribute(body, found))
                    fail_damaged(where_ + ", metadata: an attribute's record is damaged");
                all.push_back(std::move(found.name));
            }
            require_all_listed(entries, core_.path(), "attributes");
            return all;
        });
    }

    std::size_t remove(std::span<const std::string> names) override
    {
        pool_->require_write("removing an attribute");
        for (const std::string& name : names)
            require_name(name);
        std::size_t removed = 0;
        core_.storage().meta().write([&](WriteTransaction& meta) {
            removed = 0;
            require_owner(meta);
            for (const std::string& name : names) {
                const KeyBuffer key = user_attribute_key(container_, name);
                Bytes value;
                if (meta.get(key.view(), value)) ++removed;
                erase_sealed(meta, key.view());
            }
        });
        return removed;
    }

private:
    void require_name(std::string_view name) const
    {
        if (!name.empty() && name.size() <= longest_user_attribute_name) return;
        fail(DER_INVAL, where_ + ": an attribute's name has 1 to " +
                            std::to_string(longest_user_attribute_name) + " bytes, and one of " +
                            std::to_string(name.size()) + " was given");
    }
    void require_owner(ReadTransaction& meta) const
    {
        if (container_ != no_container) read_container(meta, core_.path(), container_);
    }
    bool look_up(ReadTransaction& meta, std::string_view name, UserAttribute& found) const
    {
        Bytes body;
        const KeyBuffer key = user_attribute_key(container_, name);
        if (!get_sealed(meta, key.view(), body, where_ + ", metadata")) return false;
        if (!decode_user_attribute(body, found) || found.name != name)
            fail_damaged(where_ + ", metadata: the record of the attribute " + quoted(as_bytes(name)) +
                         " is damaged");
        return true;
    }

    const std::shared_ptr<Pool> pool_; // keeps core_
    PoolCore& core_;
    const std::uint64_t container_;
    const std::string where_;
};

} // namespace

KeyBuffer user_attributes_of(std::uint64_t container)
{
    return meta_key(MetaSpace::attribute, container);
}

bool decode_user_attribute(Bytes body, UserAttribute& attribute)
{
    BodyReader reader(body);
    attribute.name = as_text(reader.bytes());
    const Bytes value = reader.bytes();
    attribute.value.assign(value.begin(), value.end());
    return reader.complete() && !attribute.name.empty() &&
           attribute.name.size() <= longest_user_attribute_name;
}

KeyBuffer user_attribute_key(std::uint64_t container, std::string_view name)
{
    return user_attributes_of(container).add(StoredKey(as_bytes(name)).view());
}

std::unique_ptr<UserAttributes> open_user_attributes(std::shared_ptr<Pool> pool, PoolCore& core,
                                                     std::uint64_t container)
{
    return std::make_unique<StoredAttributes>(std::move(pool), core, container);
}

} // namespace stepstore::store

// daos_cont_*_attr and daos_pool_*_attr: the user attributes of containers and pools.
#include "daos/api.h"

#include "daos/call.h"
#include "daos/resources.h"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace stepstore::daos;
namespace store = stepstore::store;
using stepstore::Bytes;
using stepstore::Error;
using stepstore::MutableBytes;

namespace {

template <class Body>
auto with_attributes(const PoolResource& pool, Body body)
{
    return body(*pool.pool().user_attributes());
}
// An attribute that is absent is a value of the store. So -DER_NONEXIST means that the container is gone.
template <class Body>
auto with_attributes(const ContainerResource& container, Body body)
{
    try {
        return body(*container.container().user_attributes());
    } catch (const Error& error) {
        if (error.code() == -DER_NONEXIST) throw Error(-DER_NO_HDL, error.what());
        throw;
    }
}

// The caller's names. They are taken at launch, as libdaos does.
std::vector<std::string> taken_names(int n, const char* const* names)
{
    if (n <= 0) invalid(std::to_string(n) + " attributes: give 1 or more");
    require(names, "the list of names");
    std::vector<std::string> all;
    for (int i = 0; i < n; ++i) {
        require(names[i], "an attribute's name");
        all.emplace_back(names[i], strnlen(names[i], DAOS_ATTR_NAME_MAX + 1));
        if (all.back().empty() || all.back().size() > DAOS_ATTR_NAME_MAX)
            invalid("an attribute's name has 1 to " + std::to_string(DAOS_ATTR_NAME_MAX) + " characters");
    }
    return all;
}

[[noreturn]] void none_of_them(const Resource& resource, const std::vector<std::string>& names)
{
    throw Error(-DER_NONEXIST, resource.name() + " has no attribute '" + names.front() +
                                   (names.size() > 1 ? "', and none of the others" : "'"));
}

template <class Owner>
auto list(daos_handle_t handle, char* buffer, std::size_t* size)
{
    require(size, "size");
    if (*size > 0) require(buffer, "the buffer for names");
    return [=, owner = resource<Owner>(handle), room = *size] {
        return [=, names = with_attributes(*owner, [](auto& in) { return in.names(); })] {
            // Whole names alone. One that does not fit is passed over.
            std::size_t used = 0, all = 0;
            for (const std::string& name : names) {
                const std::size_t length = name.size() + 1;
                all += length;
                if (length > room - used) continue;
                std::memcpy(buffer + used, name.c_str(), length);
                used += length;
            }
            *size = all;
        };
    };
}

template <class Owner>
auto get(daos_handle_t handle, int n, const char* const* names, void* const* buffers, std::size_t* sizes)
{
    auto taken = taken_names(n, names);
    require(sizes, "the list of sizes");
    std::vector<MutableBytes> into(taken.size());
    for (std::size_t i = 0; buffers && i < into.size(); ++i)
        if (buffers[i]) into[i] = {static_cast<std::byte*>(buffers[i]), sizes[i]};
    return [=, owner = resource<Owner>(handle)] {
        std::vector<store::UserAttributeRead> reads;
        for (std::size_t i = 0; i < taken.size(); ++i)
            reads.push_back({taken[i], into[i], {}});
        with_attributes(*owner, [&](auto& in) { in.get(reads); });
        return [=] {
            bool any = false;
            for (std::size_t i = 0; i < reads.size(); ++i) {
                any = any || reads[i].size;
                sizes[i] = reads[i].size.value_or(0);
            }
            if (!any) none_of_them(*owner, taken);
        };
    };
}

template <class Owner>
auto set(daos_handle_t handle, int n, const char* const* names, const void* const* values,
         const std::size_t* sizes)
{
    auto taken = taken_names(n, names);
    require(values, "the list of values");
    require(sizes, "the list of sizes");
    std::vector<std::vector<std::byte>> copies;
    for (std::size_t i = 0; i < taken.size(); ++i) {
        require(values[i], "an attribute's value");
        if (sizes[i] == 0)
            invalid("the attribute '" + taken[i] + "' cannot be empty: give 1 byte or more, or remove it");
        if (sizes[i] > store::longest_user_attribute)
            throw Error(-DER_OVERFLOW, "the attribute '" + taken[i] + "' has " + std::to_string(sizes[i]) +
                                           " bytes: give at most " +
                                           std::to_string(store::longest_user_attribute));
        const auto* first = static_cast<const std::byte*>(values[i]);
        copies.emplace_back(first, first + sizes[i]);
    }
    auto owner = resource<Owner>(handle);
    owner->require_writable("set an attribute");
    return [=, copies = std::move(copies)] {
        std::vector<store::NewUserAttribute> attributes;
        for (std::size_t i = 0; i < taken.size(); ++i)
            attributes.push_back({taken[i], copies[i]});
        with_attributes(*owner, [&](auto& in) { in.set(attributes); });
    };
}

template <class Owner>
auto remove(daos_handle_t handle, int n, const char* const* names)
{
    auto taken = taken_names(n, names);
    auto owner = resource<Owner>(handle);
    owner->require_writable("remove an attribute");
    return [=] {
        const auto removed = with_attributes(*owner, [&](auto& in) { return in.remove(taken); });
        if (removed == 0) none_of_them(*owner, taken);
    };
}

} // namespace

extern "C" {

int daos_cont_list_attr(daos_handle_t coh, char* buffer, size_t* size, daos_event_t* ev)
{
    return call("daos_cont_list_attr", ev, [=] { return list<ContainerResource>(coh, buffer, size); });
}

int daos_cont_get_attr(daos_handle_t coh, int n, char const* const names[], void* const buffers[],
                       size_t sizes[], daos_event_t* ev)
{
    return call("daos_cont_get_attr", ev,
                [=] { return get<ContainerResource>(coh, n, names, buffers, sizes); });
}

int daos_cont_set_attr(daos_handle_t coh, int n, char const* const names[], void const* const values[],
                       size_t const sizes[], daos_event_t* ev)
{
    return call("daos_cont_set_attr", ev,
                [=] { return set<ContainerResource>(coh, n, names, values, sizes); });
}

int daos_cont_del_attr(daos_handle_t coh, int n, char const* const names[], daos_event_t* ev)
{
    return call("daos_cont_del_attr", ev, [=] { return remove<ContainerResource>(coh, n, names); });
}

int daos_pool_list_attr(daos_handle_t poh, char* buffer, size_t* size, daos_event_t* ev)
{
    return call("daos_pool_list_attr", ev, [=] { return list<PoolResource>(poh, buffer, size); });
}

int daos_pool_get_attr(daos_handle_t poh, int n, char const* const names[], void* const buffers[],
                       size_t sizes[], daos_event_t* ev)
{
    return call("daos_pool_get_attr", ev, [=] { return get<PoolResource>(poh, n, names, buffers, sizes); });
}

int daos_pool_set_attr(daos_handle_t poh, int n, char const* const names[], void const* const values[],
                       size_t const sizes[], daos_event_t* ev)
{
    return call("daos_pool_set_attr", ev, [=] { return set<PoolResource>(poh, n, names, values, sizes); });
}

int daos_pool_del_attr(daos_handle_t poh, int n, char const* const names[], daos_event_t* ev)
{
    return call("daos_pool_del_attr", ev, [=] { return remove<PoolResource>(poh, n, names); });
}

} // extern "C"

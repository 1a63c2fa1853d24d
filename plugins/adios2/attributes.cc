#include "attributes.h"

#include "adios_types.h"

namespace stepstore::adios {

bool AttributeWatch::Known::same_as(const adios2::core::AttributeBase& now) const
{
    if (address != &now || *type != typeid(now)) return false;
    const void* values = value.strings.empty() ? static_cast<const void*>(value.data.data()) : value.strings.data();
    return now.Equals(values, static_cast<std::size_t>(value.count));
}

// Both maps are in the order of the names: one walk through them.
void AttributeWatch::look(const std::function<void(const steps::Attribute&)>& changed)
{
    const auto& present = core_of(io_).GetAttributes();
    auto at = known_.begin();
    for (const auto& [name, attribute] : present) {
        while (at != known_.end() && at->first != name && at->first < name)
            at = known_.erase(at); // removed from the IO: the stream keeps it, as a BP file does
        const bool known = at != known_.end() && at->first == name;
        if (known && at->second.same_as(*attribute)) {
            ++at;
            continue;
        }
        if (!known) at = known_.try_emplace(at, name);
        at->second = {attribute.get(), &typeid(*attribute), read(name)};
        changed(at->second.value);
        ++at;
    }
    known_.erase(at, known_.end());
}

steps::Attribute AttributeWatch::read(const std::string& name)
{
    const auto type_name = io_.AttributeType(name);
    steps::Attribute result;
    bool done = false;
    auto read_as = [&]<class T>(std::type_identity<T>) {
        if (done || type_name != adios2::GetType<T>()) return;
        done = true;
        auto attribute = io_.InquireAttribute<T>(name);
        auto data = attribute.Data();
        result.name = name;
        result.type = steps::type_of<T>();
        result.array = !attribute.IsValue();
        result.count = data.size();
        if constexpr (std::is_same_v<T, std::string>) {
            result.strings = std::move(data);
        } else {
            const auto bytes = std::as_bytes(std::span(data));
            result.data.assign(bytes.begin(), bytes.end());
        }
    };
#define read_as_type(T) read_as(std::type_identity<T>{});
    ADIOS2_FOREACH_STDTYPE_1ARG(read_as_type)
#undef read_as_type
    if (!done)
        throw Error(-DER_NOTSUPPORTED,
                    "stepstore: attribute '" + name + "' is of type " + type_name + ", which this engine cannot store");
    return result;
}

} // namespace stepstore::adios

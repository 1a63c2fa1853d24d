#include "attributes.h"

#include "adios_types.h"

#include <algorithm>

namespace stepstore::adios {

AttributeWatch::Known::Known(const std::string& its_name, const adios2::core::AttributeBase& attribute,
                             steps::Attribute value)
    : name(its_name), address(&attribute), type(&typeid(attribute)), count(value.count)
{
    if (value.strings.empty() && value.data.size() <= small.size()) {
        std::ranges::copy(value.data, small.begin());
    } else {
        data = std::move(value.data);
        strings = std::move(value.strings);
    }
}

bool AttributeWatch::Known::same_as(const adios2::core::AttributeBase& now) const
{
    if (address != &now || *type != typeid(now)) return false;
    const void* values = small.data();
    if (!strings.empty()) values = strings.data();
    if (!data.empty()) values = data.data();
    return now.Equals(values, static_cast<std::size_t>(count));
}

bool AttributeWatch::unchanged() const
{
    return std::ranges::equal(known_, core_of(io_).GetAttributes(),
                              [](const Known& known, const auto& present) {
                                  return known.name == present.first && known.same_as(*present.second);
                              });
}

void AttributeWatch::listen()
{
    listening_ = true;
    for (const auto& [name, attribute] : core_of(io_).GetAttributes())
        told_.insert(told_.end(), name);
}

// Those of a first step follow each other in both, so the next one is tried before it is looked for.
void AttributeWatch::look_at_told(const std::function<void(const steps::Attribute&)>& changed)
{
    const auto& present = core_of(io_).GetAttributes();
    auto at = present.begin();
    for (const auto& name : told_) {
        if (at == present.end() || at->first != name) at = present.find(name);
        if (at == present.end()) continue; // removed: the stream keeps it
        changed(read(name, *at->second));
        ++at;
    }
    told_.clear();
}

// Both are in the order of the names: one walk through them.
void AttributeWatch::look(const std::function<void(const steps::Attribute&)>& changed)
{
    if (listening_) return look_at_told(changed);
    if (unchanged()) return;
    const auto& present = core_of(io_).GetAttributes();
    std::vector<Known> now;
    now.reserve(present.size());
    auto before = known_.begin();
    for (const auto& [name, attribute] : present) {
        while (before != known_.end() && before->name < name)
            ++before; // removed from the IO: the stream keeps it, as a BP file does
        if (before != known_.end() && before->name == name && before->same_as(*attribute)) {
            now.push_back(std::move(*before++));
            continue;
        }
        auto value = read(name, *attribute);
        changed(value);
        now.emplace_back(name, *attribute, std::move(value));
    }
    known_ = std::move(now);
}

std::optional<steps::Attribute> AttributeWatch::read_by_interface(const std::string& name)
{
    std::optional<steps::Attribute> result;
    const auto type = io_.AttributeType(name);
    const auto read_as = [&]<class T>(std::type_identity<T>) {
        static const std::string of_this_type = adios2::GetType<T>();
        if (result || type != of_this_type) return;
        const auto attribute = io_.InquireAttribute<T>(name);
        result = attribute_of<T>(name, attribute.Data(), attribute.IsValue());
    };
#define read_as_type(T) read_as(std::type_identity<T>{});
    ADIOS2_FOREACH_STDTYPE_1ARG(read_as_type)
#undef read_as_type
    return result;
}

steps::Attribute AttributeWatch::read(const std::string& name, const adios2::core::AttributeBase& attribute)
{
    auto result = core_fits_ ? lying_attribute(attribute) : read_by_interface(name);
    if (!result)
        throw Error(-DER_NOTSUPPORTED, "stepstore: attribute '" + name + "' is of type " +
                                           io_.AttributeType(name) + ", which this engine cannot store");
    return *std::move(result);
}

} // namespace stepstore::adios

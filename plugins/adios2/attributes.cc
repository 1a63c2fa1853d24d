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
        told_.insert(name);
}

void AttributeWatch::look_at_told(const std::function<void(const steps::Attribute&)>& changed)
{
    for (const auto& name : told_)
        if (const auto type = io_.AttributeType(name); !type.empty()) // else removed: the stream keeps it
            changed(read(name, type));
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
        auto value = read(name, io_.AttributeType(name));
        changed(value);
        now.emplace_back(name, *attribute, std::move(value));
    }
    known_ = std::move(now);
}

steps::Attribute AttributeWatch::read(const std::string& name, const std::string& type_name)
{
    steps::Attribute result;
    bool done = false;
    auto read_as = [&]<class T>(std::type_identity<T>) {
        static const std::string of_this_type = adios2::GetType<T>();
        if (done || type_name != of_this_type) return;
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
        throw Error(-DER_NOTSUPPORTED, "stepstore: attribute '" + name + "' is of type " + type_name +
                                           ", which this engine cannot store");
    return result;
}

} // namespace stepstore::adios

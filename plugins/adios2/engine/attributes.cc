#include "attributes.h"

#include "adios_types.h"

#include <algorithm>

namespace stepstore::adios {

AttributeWatch::Known::Known(const std::string& its_name, const adios2::core::AttributeBase& attribute,
                             const steps::Attribute& value)
    : name(its_name), address(&attribute), type(&typeid(attribute)), count(value.count)
{
    if (value.strings.empty() && value.data.size() <= small.size()) {
        std::ranges::copy(value.data, small.begin());
    } else {
        data = value.data;
        strings = value.strings;
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
    listening_ = all_ = true;
}

void AttributeWatch::changed(std::string name)
{
    if (all_) return;
    told_.push_back(std::move(name));
    if (told_.size() <= core_of(io_).GetAttributes().size()) return;
    told_.clear();
    all_ = true;
}

void AttributeWatch::look_at_told(const std::function<void(const steps::Attribute&)>& changed)
{
    if (!all_ && told_.empty()) return;
    const auto& present = core_of(io_).GetAttributes();
    if (all_)
        for (const auto& [name, attribute] : present)
            changed(read(name, *attribute));
    for (const auto& name : told_)
        if (const auto at = present.find(name); at != present.end()) // else removed: the stream keeps it
            changed(read(name, *at->second));
    all_ = false;
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
        changed(read(name, *attribute));
        now.emplace_back(name, *attribute, read_);
    }
    known_ = std::move(now);
}

bool AttributeWatch::read_by_interface(const std::string& name)
{
    bool done = false;
    const auto type = io_.AttributeType(name);
    const auto read_as = [&]<class T>(std::type_identity<T>) {
        static const std::string of_this_type = adios2::GetType<T>();
        if (done || type != of_this_type) return;
        const auto attribute = io_.InquireAttribute<T>(name);
        done = fill<T>(read_, name, attribute.Data(), attribute.IsValue());
    };
#define read_as_type(T) read_as(std::type_identity<T>{});
    ADIOS2_FOREACH_STDTYPE_1ARG(read_as_type)
#undef read_as_type
    return done;
}

const steps::Attribute& AttributeWatch::read(const std::string& name,
                                             const adios2::core::AttributeBase& attribute)
{
    if (!(core_fits_ ? fill_from(read_, attribute) : read_by_interface(name)))
        throw Error(-DER_NOTSUPPORTED, "stepstore: attribute '" + name + "' is of type " +
                                           io_.AttributeType(name) + ", which this engine cannot store");
    return read_;
}

} // namespace stepstore::adios

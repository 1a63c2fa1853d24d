// The layouts there are: one line each, the default first.
#include "steps/layouts/layout.h"

namespace stepstore::steps {

// clang-format off
#define STEPSTORE_LAYOUTS(layout) \
    layout(array_aligned_layout)  \
    layout(array_layout)          \
    layout(array_adaptive_layout) \
    layout(kv_layout)             \
    layout(posix_layout)
// clang-format on

#define STEPSTORE_DECLARE(layout) const Layout& layout();
STEPSTORE_LAYOUTS(STEPSTORE_DECLARE)
#undef STEPSTORE_DECLARE

const std::vector<const Layout*>& layouts()
{
#define STEPSTORE_LIST(layout) &layout(),
    static const std::vector<const Layout*> all{STEPSTORE_LAYOUTS(STEPSTORE_LIST)};
#undef STEPSTORE_LIST
    return all;
}

const Layout* find_layout(std::uint8_t number)
{
    for (const Layout* layout : layouts())
        if (layout->number == number) return layout;
    return nullptr;
}

const Layout& layout_of(const StreamRecord& record)
{
    if (const Layout* layout = find_layout(record.layout)) return *layout;
    throw Error(-DER_DF_INCOMPT, "this library does not know the layout with the number " +
                                     std::to_string(record.layout) +
                                     ": use the Stepstore that wrote the stream, or a newer one");
}

const Layout& layout_named(std::string_view name)
{
    std::string valid;
    for (const Layout* layout : layouts()) {
        if (name.empty() || layout->name == name) return *layout;
        valid += (valid.empty() ? "" : ", ") + std::string(layout->name);
    }
    throw Error(-DER_INVAL, "Layout='" + std::string(name) + "': valid are " + valid);
}

} // namespace stepstore::steps

#include "arrays/types.h"

#include <algorithm>

namespace stepstore::arrays {

namespace {

struct Known {
    Kind kind;
    std::uint64_t size;
    std::string_view name;
};
constexpr Known known[] = {
    {Kind::int8, 1, "int8"},           {Kind::int16, 2, "int16"},
    {Kind::int32, 4, "int32"},         {Kind::int64, 8, "int64"},
    {Kind::uint8, 1, "uint8"},         {Kind::uint16, 2, "uint16"},
    {Kind::uint32, 4, "uint32"},       {Kind::uint64, 8, "uint64"},
    {Kind::real32, 4, "real32"},       {Kind::real64, 8, "real64"},
    {Kind::complex64, 8, "complex64"}, {Kind::complex128, 16, "complex128"},
    {Kind::character, 1, "character"}, {Kind::logical8, 1, "logical8"},
    {Kind::logical32, 4, "logical32"},
};

const Known* find(Kind kind)
{
    const auto* found = std::ranges::find(known, kind, &Known::kind);
    return found == std::end(known) ? nullptr : found;
}

} // namespace

bool is_known(const ElementType& type)
{
    return find(type.kind) != nullptr && type.length >= 1 && type.length <= INT32_MAX &&
           (type.kind == Kind::character || type.length == 1);
}

std::uint64_t size_of(const ElementType& type)
{
    const Known* one = find(type.kind);
    return one == nullptr ? 0 : one->size * type.length;
}

std::string to_text(const ElementType& type)
{
    const Known* one = find(type.kind);
    if (one == nullptr) return "type " + std::to_string(static_cast<unsigned>(type.kind));
    return std::string(one->name) +
           (type.kind == Kind::character ? "(" + std::to_string(type.length) + ")" : "");
}

bool is_empty(const Box& box, unsigned dimensions)
{
    return std::ranges::count(std::span(box.count).first(dimensions), 0U) > 0;
}

std::uint64_t volume(const Extents& count, unsigned dimensions)
{
    std::uint64_t elements = 1;
    for (unsigned d = 0; d < dimensions; ++d)
        elements *= count[d];
    return elements;
}

bool contains(const Extents& shape, const Box& box, unsigned dimensions)
{
    for (unsigned d = 0; d < dimensions; ++d)
        if (box.count[d] > shape[d] || box.start[d] > shape[d] - box.count[d]) return false;
    return true;
}

std::optional<Box> intersection(const Box& a, const Box& b, unsigned dimensions)
{
    Box shared;
    for (unsigned d = 0; d < dimensions; ++d) {
        const std::uint64_t begin = std::max(a.start[d], b.start[d]);
        const std::uint64_t end = std::min(a.start[d] + a.count[d], b.start[d] + b.count[d]);
        if (end <= begin) return std::nullopt;
        shared.start[d] = begin;
        shared.count[d] = end - begin;
    }
    return shared;
}

Extents reversed(const Extents& extents, unsigned dimensions)
{
    Extents other{};
    std::reverse_copy(extents.begin(), extents.begin() + dimensions, other.begin());
    return other;
}

std::string Naming::dimension(unsigned row_major_dimension) const
{
    const unsigned number =
        order == Order::row_major ? row_major_dimension : dimensions - row_major_dimension;
    return "dimension " + std::to_string(number);
}

std::string Naming::extents(const Extents& row_major) const
{
    const Extents shown = order == Order::row_major ? row_major : reversed(row_major, dimensions);
    return stepstore::to_text(std::span(shown).first(dimensions));
}

std::string Naming::box(const Box& box) const
{
    const bool fortran = order == Order::column_major;
    std::string text = fortran ? "(" : "[";
    for (unsigned i = 0; i < dimensions; ++i) {
        const unsigned d = fortran ? dimensions - 1 - i : i;
        text += (i > 0 ? ", " : "") + std::to_string(box.start[d] + (fortran ? 1 : 0)) + ":" +
                std::to_string(box.start[d] + box.count[d]);
    }
    return text + (fortran ? ")" : "]");
}

} // namespace stepstore::arrays

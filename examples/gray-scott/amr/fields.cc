#include "fields.h"

#include <algorithm>

namespace gray_scott::amr {

void Fields::resize(std::size_t cells)
{
    u.resize(cells);
    v.resize(cells);
    for (auto& one : derived)
        one.resize(cells);
}

void copy_row(const Settings& settings, const Cells& cells, std::size_t from, std::size_t count,
              double length, Fields& fields, std::size_t to)
{
    const auto begin = static_cast<std::ptrdiff_t>(from), at = static_cast<std::ptrdiff_t>(to);
    std::copy_n(cells.u.begin() + begin, count, fields.u.begin() + at);
    std::copy_n(cells.v.begin() + begin, count, fields.v.begin() + at);
    const std::array<std::size_t, 3> strides = {cells.plane(), cells.row(), 1};
    for (std::size_t n = 0; n < count; ++n) {
        const std::size_t i = from + n;
        fields.derived[0][to + n] = static_cast<float>(cells.u[i] * cells.v[i] * cells.v[i]);
        for (std::size_t d = 0; d < 3; ++d) {
            const auto flux = [&](double diffusion, const std::vector<double>& of) {
                return static_cast<float>(-diffusion * (of[i + strides[d]] - of[i - strides[d]]) /
                                          (2 * length));
            };
            fields.derived[1 + d][to + n] = flux(settings.Du, cells.u);
            fields.derived[4 + d][to + n] = flux(settings.Dv, cells.v);
        }
    }
}

} // namespace gray_scott::amr

// How the builds of the engine are named: libstepstore_adios2_engine-RELEASE[-FEATURE+FEATURE].so. The loader
// looks for these names, and the engine compares what it was built for.
// Threads: any; pure.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace stepstore {

inline constexpr std::string_view adapter_prefix = "libstepstore_adios2_engine-";

// The features of ADIOS2 that change its classes, as adios2_available_features() names them, sorted.
inline constexpr std::array<std::string_view, 4> features_of_layouts = {"CUDA", "DERIVED_VARIABLE",
                                                                        "GPU_SUPPORT", "KOKKOS"};

// The release of a version. "2.12.1.1001" is the first packaging of 2.12.1. Another fourth number counts the
// commits after a release: that is a version of its own.
inline std::string release_of(const std::string& version)
{
    std::size_t third = 0;
    for (int dots = 0; third < version.size(); ++third)
        if (version[third] == '.' && ++dots == 3) break;
    if (third >= version.size()) return version;
    const auto fourth = version.substr(third + 1);
    const bool packaging =
        fourth == "0" || (fourth.size() == 4 && fourth.front() == '1' &&
                          std::ranges::all_of(fourth, [](char c) { return c >= '0' && c <= '9'; }));
    return packaging ? version.substr(0, third) : version;
}

// The part of the name between adapter_prefix and ".so".
inline std::string adapter_suffix(const std::string& release, const std::vector<std::string>& features)
{
    std::string name = release;
    for (const auto& feature : features) {
        name += &feature == &features.front() ? '-' : '+';
        for (const char c : feature)
            name += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    return name;
}

} // namespace stepstore

// Finds the build of the engine for the ADIOS2 of this process.
#include "adapter.h"

#include "adapter_name.h"
#include "base/module.h"
#include "daos_errno.h"
#include "stepstore/error.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <optional>
#include <unistd.h>

namespace stepstore {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ending = ".so";

std::vector<fs::path> folders(const std::string& beside)
{
    std::vector<fs::path> all;
    if (const char* given = secure_getenv("STEPSTORE_ADIOS2_ADAPTERS"); given != nullptr && *given != 0)
        all.emplace_back(given);
    all.emplace_back(beside);
    fs::path own;
    if (const char* data = secure_getenv("XDG_DATA_HOME"); data != nullptr && *data != 0)
        own = data;
    else if (const char* home = secure_getenv("HOME"); home != nullptr && *home != 0)
        own = fs::path(home) / ".local/share";
    own /= STEPSTORE_ADIOS2_ADAPTER_FOLDER;
    // Not that of another user, whose home a process of root may have.
    if (own.is_absolute() && distrust(own.string(), geteuid()) == nullptr) all.push_back(own);
    return all;
}

std::string series_of(const std::string& release)
{
    return release.substr(0, release.find('.', release.find('.') + 1));
}

// What comes after the common beginning of the names: "2.12.1", "2.12.1-derived_variable".
std::vector<std::string> adapters_in(const fs::path& folder)
{
    std::vector<std::string> found;
    std::error_code failed;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
         entry.increment(failed)) {
        std::string name = entry->path().filename().string();
        if (!name.starts_with(adapter_prefix) || !name.ends_with(ending)) continue;
        name = name.substr(adapter_prefix.size());
        found.push_back(name.substr(0, name.size() - ending.size()));
    }
    std::ranges::sort(found);
    return found;
}

std::optional<std::string> best(const std::vector<std::string>& there, const Adios2& adios2)
{
    auto exact = adapter_suffix(adios2.release, adios2.features);
    if (std::ranges::find(there, exact) != there.end()) return exact;
    if (std::ranges::find(there, adios2.release) != there.end()) return adios2.release;
    for (const auto& name : there)
        if (name.starts_with(series_of(adios2.release) + ".")) return name;
    return std::nullopt;
}

} // namespace

Adios2 adios2_at(const std::string& core)
{
    Adios2 adios2;
    adios2.core = core;
    std::error_code failed;
    adios2.folder = fs::canonical(core, failed).parent_path().string();
    void* library = dlopen(core.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    const auto* version =
        library == nullptr ? nullptr : static_cast<const char*>(dlsym(library, "adios2_version_str"));
    const auto features = reinterpret_cast<void (*)(std::size_t*, const char* const**)>(
        library == nullptr ? nullptr : dlsym(library, "adios2_available_features"));
    if (version == nullptr || features == nullptr)
        throw Error(-DER_NOSYS,
                    core +
                        " does not say its version (adios2_version_str): Stepstore serves ADIOS2 from 2.10 "
                        "on, in shared libraries of its own, not inside of another one as in the wheel of "
                        "openPMD-api. docs/adios2.md says how to build that one for an ADIOS2");
    adios2.release = release_of(version);
    std::size_t count = 0;
    const char* const* names = nullptr;
    features(&count, &names);
    for (const auto feature : features_of_layouts)
        if (std::find(names, names + count, feature) != names + count) adios2.features.emplace_back(feature);
    return adios2;
}

std::string to_text(const Adios2& adios2)
{
    std::string text = "ADIOS2 " + adios2.release;
    for (const auto& feature : adios2.features)
        text += (feature == adios2.features.front() ? " with " : ", ") + feature;
    return text + " (" + adios2.folder + ")";
}

std::string adapter_for(const Adios2& adios2, const std::string& beside)
{
    std::string others, looked;
    std::optional<std::string> less;
    for (const auto& folder : folders(beside)) {
        looked += (looked.empty() ? "" : ", ") + folder.string();
        const auto there = adapters_in(folder);
        const auto found = best(there, adios2);
        if (found) {
            const auto path =
                (folder / (std::string(adapter_prefix) + *found + std::string(ending))).string();
            if (*found == adapter_suffix(adios2.release, adios2.features)) return path;
            if (!less) less = path;
        }
        for (const auto& name : there)
            others += (others.empty() ? "" : ", ") + name;
    }
    if (less) return *less;
    throw Error(-DER_NOSYS,
                "stepstore has no engine for the ADIOS2 of this process, " + to_text(adios2) + ": there " +
                    (others.empty() ? "is none" : "are those for " + others) + " in " + looked +
                    ". Make one, which takes a minute: stepstore adios2-build --adios2 " + adios2.folder);
}

} // namespace stepstore

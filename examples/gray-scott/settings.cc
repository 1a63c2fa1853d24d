#include "settings.h"

#include <charconv>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>

namespace gray_scott {
namespace {

std::string trimmed(const std::string& text)
{
    auto first = text.find_first_not_of(" \t\r");
    if (first == std::string::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

template <class Number>
Number number(const std::string& name, const std::string& value, Number lowest, Number highest)
{
    Number result{};
    auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (failed != std::errc() || end != value.data() + value.size() || result < lowest || result > highest)
        throw std::invalid_argument("setting " + name + "=" + value + ": give a number from " +
                                    std::to_string(lowest) + " to " + std::to_string(highest));
    return result;
}

void set(Settings& to, const std::string& name, const std::string& value)
{
    auto real = [&](double& field) { field = number<double>(name, value, 0.0, 1e6); };
    const std::map<std::string, std::function<void()>> known = {
        {"L", [&] { to.L = number<int>(name, value, 4, 1 << 14); }},
        {"steps", [&] { to.steps = number<int>(name, value, 0, 1 << 30); }},
        {"plotgap", [&] { to.plotgap = number<int>(name, value, 1, 1 << 30); }},
        {"F", [&] { real(to.F); }},
        {"k", [&] { real(to.k); }},
        {"Du", [&] { real(to.Du); }},
        {"Dv", [&] { real(to.Dv); }},
        {"dt", [&] { real(to.dt); }},
        {"noise", [&] { real(to.noise); }},
        {"seed", [&] { to.seed = number<std::uint64_t>(name, value, 0, UINT64_MAX); }},
        {"output", [&] { to.output = value; }},
        {"adios_config", [&] { to.adios_config = value; }},
        {"timings", [&] { to.timings = value; }},
    };
    auto found = known.find(name);
    if (found != known.end()) return found->second();
    std::string names;
    for (const auto& [one, setter] : known)
        names += (names.empty() ? "" : ", ") + one;
    throw std::invalid_argument("there is no setting '" + name + "'; the settings are " + names);
}

void read_file(Settings& to, const std::string& path)
{
    std::ifstream file(path);
    if (!file) throw std::invalid_argument("cannot read the settings file " + path);
    std::string line;
    while (std::getline(file, line)) {
        line = trimmed(line.substr(0, line.find('#')));
        if (line.empty()) continue;
        auto equals = line.find('=');
        if (equals == std::string::npos)
            throw std::invalid_argument(path + ": a line does not have the form name = value: " + line);
        set(to, trimmed(line.substr(0, equals)), trimmed(line.substr(equals + 1)));
    }
}

} // namespace

Settings read_settings(int argc, char** argv)
{
    Settings settings;
    for (int i = 1; i < argc; ++i) {
        std::string word = argv[i];
        auto equals = word.find('=');
        if (equals == std::string::npos)
            read_file(settings, word);
        else
            set(settings, word.substr(0, equals), word.substr(equals + 1));
    }
    return settings;
}

} // namespace gray_scott

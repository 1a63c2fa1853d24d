#include "read_settings.h"

#include <fstream>

namespace gray_scott {
namespace {

std::string trimmed(const std::string& text)
{
    auto first = text.find_first_not_of(" \t\r");
    if (first == std::string::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

void set(const KnownSettings& known, const std::string& name, const std::string& value)
{
    auto found = known.find(name);
    if (found != known.end()) return found->second(value);
    std::string names;
    for (const auto& [one, setter] : known)
        names += (names.empty() ? "" : ", ") + one;
    throw std::invalid_argument("there is no setting '" + name + "'; the settings are " + names);
}

void read_file(const KnownSettings& known, const std::string& path)
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
        set(known, trimmed(line.substr(0, equals)), trimmed(line.substr(equals + 1)));
    }
}

} // namespace

void apply_settings(int argc, char** argv, const KnownSettings& known)
{
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const auto equals = word.find('=');
        if (equals == std::string::npos)
            read_file(known, word);
        else
            set(known, word.substr(0, equals), word.substr(equals + 1));
    }
}

} // namespace gray_scott

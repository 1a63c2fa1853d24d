// The settings of a simulation: files of lines `name = value`, and `name=value` on the command line. Later
// values override earlier ones.
#pragma once

#include <charconv>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

namespace gray_scott {

// The action of each known setting on its value.
using KnownSettings = std::map<std::string, std::function<void(const std::string&)>>;

// Throws std::invalid_argument, which names the setting and what is valid.
void apply_settings(int argc, char** argv, const KnownSettings& known);

// The value as a number of this range. Throws std::invalid_argument.
template <class Number>
Number number_of(const std::string& name, const std::string& value, Number lowest, Number highest)
{
    Number result{};
    auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (failed != std::errc() || end != value.data() + value.size() || result < lowest || result > highest)
        throw std::invalid_argument("setting " + name + "=" + value + ": give a number from " +
                                    std::to_string(lowest) + " to " + std::to_string(highest));
    return result;
}

// A setting that is a number, or a text.
template <class Number>
std::function<void(const std::string&)> number_setting(const char* name, Number& to, Number lowest,
                                                       Number highest)
{
    return [name, &to, lowest, highest](const std::string& value) {
        to = number_of<Number>(name, value, lowest, highest);
    };
}

inline std::function<void(const std::string&)> text_setting(std::string& to)
{
    return [&to](const std::string& value) { to = value; };
}

} // namespace gray_scott

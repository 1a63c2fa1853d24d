#include "common/command_line.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <getopt.h>
#include <sstream>

namespace stepstore::bench {

namespace {

std::vector<std::string> split(const std::string& list)
{
    std::vector<std::string> words;
    std::istringstream from(list);
    for (std::string word; std::getline(from, word, ',');)
        words.push_back(word);
    return words;
}

// As the help of the command stepstore says it: "rounds" becomes "Rounds."
std::string sentence(std::string text)
{
    text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    return text + ".";
}

// What getopt_long has just refused.
std::string refused(char** argv)
{
    return optopt > 0 ? std::string{'-', static_cast<char>(optopt)} : argv[optind - 1];
}

} // namespace

CommandLine::CommandLine(std::string program, std::string usage, std::string about)
    : program_(std::move(program)), usage_(std::move(usage)), about_(std::move(about))
{
}

void CommandLine::option(const std::string& name, const std::string& value, const std::string& help,
                         const Take& take)
{
    options_.push_back({name, value, help, take});
}

void CommandLine::flag(const std::string& name, const std::string& help, const std::function<void()>& take)
{
    option(name, {}, help, [take](const std::string&) { take(); });
}

void CommandLine::number(const std::string& name, const std::string& help, std::uint64_t& into,
                         std::uint64_t least, std::uint64_t most)
{
    option(name, "N", help,
           [=, this, &into](const std::string& value) { into = checked(name, value, least, most); });
}

void CommandLine::numbers(const std::string& name, const std::string& help, std::vector<std::uint64_t>& into,
                          std::uint64_t most)
{
    option(name, "N,...", help, [=, this, &into](const std::string& list) {
        into.clear();
        for (const std::string& value : split(list))
            into.push_back(checked(name, value, 1, most));
        if (into.empty()) refuse("--" + name + ": give numbers with commas between them");
    });
}

void CommandLine::bytes(const std::string& name, const std::string& help, std::uint64_t& into,
                        std::uint64_t least, std::uint64_t most)
{
    option(name, "BYTES", help,
           [=, this, &into](const std::string& value) { into = checked(name, value, least, most); });
}

void CommandLine::seconds(const std::string& name, const std::string& help, double& into)
{
    option(name, "SECONDS", help, [=, this, &into](const std::string& value) {
        const char* const last = value.data() + value.size();
        const auto [end, error] = std::from_chars(value.data(), last, into);
        if (error != std::errc{} || end != last || !(into > 0) || into > 1e9)
            refuse("--" + name + " " + value + ": give a number greater than 0");
    });
}

void CommandLine::text(const std::string& name, const std::string& value, const std::string& help,
                       std::string& into)
{
    option(name, value, help, [&into](const std::string& given) { into = given; });
}

void CommandLine::choice(const std::string& name, const std::vector<std::string>& values,
                         const std::string& help, std::string& into)
{
    std::string all;
    for (const std::string& value : values)
        all += (all.empty() ? "" : "|") + value;
    option(name, all, help, [=, this, &into](const std::string& given) {
        if (std::find(values.begin(), values.end(), given) == values.end())
            refuse("--" + name + " " + given + ": give one of " + all);
        into = given;
    });
}

void CommandLine::words(const std::string& name, const std::string& value, const std::string& help,
                        std::vector<std::string>& into)
{
    option(name, value, help, [&into](const std::string& list) { into = split(list); });
}

void CommandLine::example(const std::string& what, const std::string& command)
{
    examples_.push_back({what, command});
}

std::uint64_t CommandLine::checked(const std::string& name, const std::string& text, std::uint64_t least,
                                   std::uint64_t most) const
{
    std::uint64_t value = 0;
    const char* const last = text.data() + text.size();
    auto [end, error] = std::from_chars(text.data(), last, value);
    if (error == std::errc{} && end + 1 == last && (*end == 'k' || *end == 'M')) {
        const unsigned shift = *end++ == 'k' ? 10 : 20;
        value = value <= (most >> shift) ? value << shift : most + 1;
    }
    if (error != std::errc{} || end != last || value < least || value > most)
        refuse("--" + name + " " + text + ": give a whole number from " + std::to_string(least) + " to " +
               std::to_string(most));
    return value;
}

std::string CommandLine::help() const
{
    constexpr std::size_t column = 26;
    std::string text = "Usage: " + program_ + " " + usage_ + "\n\n" + about_ + "\n\nOptions:\n";
    const auto add = [&](const std::string& name, const std::string& what) {
        std::string line = "  " + name + " ";
        if (line.size() >= column) {
            line.pop_back();
            text += line + "\n";
            line.clear();
        }
        line.resize(column - 1, ' ');
        std::istringstream words(sentence(what));
        for (std::string word; words >> word; line += " " + word)
            if (line.size() + word.size() >= 100) {
                text += line + "\n";
                line.assign(column - 1, ' ');
            }
        text += line + "\n";
    };
    for (const Option& one : options_)
        add("--" + one.name + (one.value.empty() ? "" : " " + one.value), one.help);
    add("-h, --help", "show this text and exit");
    text += "\nExamples:\n";
    for (const Example& one : examples_)
        text += "  " + one.what + "\n    " + one.command + "\n";
    return text;
}

void CommandLine::refuse(const std::string& what) const
{
    std::fprintf(stderr, "%s: %s; try --help\n", program_.c_str(), what.c_str());
    std::exit(2);
}

std::vector<std::string> CommandLine::parse(int argc, char** argv) const
{
    std::vector<::option> known;
    for (const Option& one : options_)
        known.push_back({one.name.c_str(), one.value.empty() ? no_argument : required_argument, nullptr, 0});
    known.push_back({"help", no_argument, nullptr, 'h'});
    known.push_back({});
    int index = 0;
    for (int found; (found = getopt_long(argc, argv, ":h", known.data(), &index)) != -1;) {
        if (found == ':') refuse(refused(argv) + " takes a value");
        if (found == '?') refuse("there is no option '" + refused(argv) + "'");
        if (found == 'h') {
            std::fputs(help().c_str(), stdout);
            std::exit(0);
        }
        options_[static_cast<std::size_t>(index)].take(optarg ? optarg : "");
    }
    return {argv + optind, argv + argc};
}

} // namespace stepstore::bench

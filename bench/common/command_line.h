// The command line of a benchmark: each option is described once, with what it does. --help is made of that,
// and looks like the help of the command stepstore.
// Threads: one. Errors: wrong usage ends the program with status 2.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace stepstore::bench {

class CommandLine {
public:
    // usage: what stands after the program's name; about: paragraphs for --help.
    CommandLine(std::string program, std::string usage, std::string about);

    using Take = std::function<void(const std::string& value)>;
    void option(const std::string& name, const std::string& value, const std::string& help, const Take& take);
    void flag(const std::string& name, const std::string& help, const std::function<void()>& take);
    // For the options with the values that follow: lists are separated by commas, sizes take k and M.
    void number(const std::string& name, const std::string& help, std::uint64_t& into,
                std::uint64_t least = 1, std::uint64_t most = std::uint64_t{1} << 40);
    void numbers(const std::string& name, const std::string& help, std::vector<std::uint64_t>& into,
                 std::uint64_t most = std::uint64_t{1} << 40);
    void bytes(const std::string& name, const std::string& help, std::uint64_t& into, std::uint64_t least = 1,
               std::uint64_t most = std::uint64_t{1} << 40);
    void seconds(const std::string& name, const std::string& help, double& into);
    void text(const std::string& name, const std::string& value, const std::string& help, std::string& into);
    void choice(const std::string& name, const std::vector<std::string>& values, const std::string& help,
                std::string& into);
    void words(const std::string& name, const std::string& value, const std::string& help,
               std::vector<std::string>& into);

    void example(const std::string& what, const std::string& command);

    // The arguments that are no options. Ends the program for --help (status 0) and for wrong usage (2).
    std::vector<std::string> parse(int argc, char** argv) const;
    [[noreturn]] void refuse(const std::string& what) const; // with status 2

private:
    struct Option {
        std::string name, value, help; // value empty: a flag
        Take take;
    };
    struct Example {
        std::string what, command;
    };
    std::uint64_t checked(const std::string& name, const std::string& text, std::uint64_t least,
                          std::uint64_t most) const;
    std::string help() const;

    std::string program_, usage_, about_;
    std::vector<Option> options_;
    std::vector<Example> examples_;
};

} // namespace stepstore::bench

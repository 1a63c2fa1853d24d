// What is archived: one GRIB message as a template, and for every value of every key the bytes that say so in
// a message. The command that starts the program makes both with ecCodes; here nothing is encoded.
// Threads: a plan that was read may be shared; a Checker is for one. Errors: std::runtime_error.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace stepstore::bench {

// Which field: positions in the plan's lists of values.
struct Field {
    int number;
    int step;
    int param;
    int level;
};

struct Plan {
    struct Value {
        std::string text;
        std::vector<std::pair<std::size_t, char>> bytes; // where in a message, and what
    };
    using Values = std::vector<Value>;

    // Throws std::runtime_error when the file is none.
    static Plan read(const std::string& path);

    std::map<std::string, std::string> keys_of(const Field& field) const;
    // Makes the template, or the first bytes of it that a key is said in, the message of `field`.
    void say(char* message, const Field& field) const;

    int fields_of_a_step() const { return static_cast<int>(params().size() * levels().size()); }
    const Values& steps() const { return varying.at("step"); }
    const Values& numbers() const { return varying.at("number"); }
    const Values& params() const { return varying.at("param"); }
    const Values& levels() const { return varying.at("levelist"); }

    std::vector<char> message;
    std::size_t head = 0; // bytes from the beginning in which messages differ
    std::map<std::string, std::string> dataset;
    std::map<std::string, std::string> constant; // the dataset's keys and those that every field has
    std::map<std::string, Values> varying;
    std::vector<std::string> collocation, element; // the keywords of the schema's second and third level
};

std::vector<std::string> texts(const Plan::Values& values);

// Checks that messages are the fields that were asked for. It always compares their first bytes. It compares
// the rest of all small messages and of every 16th large one.
class Checker {
public:
    explicit Checker(const Plan& plan)
        : plan_(plan),
          expected_(plan.message.begin(), plan.message.begin() + static_cast<std::ptrdiff_t>(plan.head))
    {
    }

    // Throws std::runtime_error when `length` bytes at `read` are not that one.
    void check(const Field& field, const char* read, std::size_t length);
    // The same for many, which lie one after the other in any order.
    void check(const std::vector<Field>& fields, const char* read, std::size_t length);

private:
    void check_rest(const char* read);

    const Plan& plan_;
    std::string expected_;
    std::size_t checked_ = 0;
};

} // namespace stepstore::bench

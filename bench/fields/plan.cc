#include "plan.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace stepstore::bench {

namespace {

constexpr std::size_t always_whole = 64 << 10;
constexpr std::size_t one_in = 16;

std::vector<char> contents(const std::string& path)
{
    std::vector<char> bytes(std::filesystem::file_size(path));
    std::ifstream file(path, std::ios::binary);
    if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())))
        throw std::runtime_error("cannot read the message " + path);
    return bytes;
}

} // namespace

// Lines of words: "message PATH", "collocation KEY...", "element KEY...", "dataset KEY VALUE", "constant KEY
// VALUE", "value KEY VALUE [POSITION BYTE]...".
Plan Plan::read(const std::string& path)
{
    Plan plan;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string kind, name, text;
        words >> kind >> name;
        if (kind == "message") {
            plan.message = contents(name);
            continue;
        }
        if (kind == "collocation" || kind == "element") {
            auto& keys = kind == "element" ? plan.element : plan.collocation;
            do
                keys.push_back(name);
            while (words >> name);
            continue;
        }
        words >> text;
        if (kind == "dataset" || kind == "constant") {
            plan.constant[name] = text;
            if (kind == "dataset") plan.dataset[name] = text;
        } else if (kind == "value") {
            Value value{text, {}};
            std::size_t position = 0;
            for (int byte = 0; words >> position >> byte;) {
                if (position >= plan.message.size())
                    throw std::runtime_error(
                        path + ": this line names a place after the end of the message: " + line);
                value.bytes.emplace_back(position, static_cast<char>(byte));
                plan.head = std::max(plan.head, position + 1);
            }
            plan.varying[name].push_back(std::move(value));
        } else {
            throw std::runtime_error(path + ": this line does not belong in a plan: " + line);
        }
    }
    for (const char* name : {"number", "step", "param", "levelist"})
        if (plan.varying[name].empty())
            throw std::runtime_error(path + " is not a plan: it has no values of " + name);
    return plan;
}

std::map<std::string, std::string> Plan::keys_of(const Field& field) const
{
    auto keys = constant;
    keys["number"] = numbers().at(static_cast<std::size_t>(field.number)).text;
    keys["step"] = steps().at(static_cast<std::size_t>(field.step)).text;
    keys["param"] = params().at(static_cast<std::size_t>(field.param)).text;
    keys["levelist"] = levels().at(static_cast<std::size_t>(field.level)).text;
    return keys;
}

void Plan::say(char* message_of, const Field& field) const
{
    const auto put = [&](const Values& values, int index) {
        for (const auto& [position, byte] : values.at(static_cast<std::size_t>(index)).bytes)
            message_of[position] = byte;
    };
    put(numbers(), field.number);
    put(steps(), field.step);
    put(params(), field.param);
    put(levels(), field.level);
}

std::vector<std::string> texts(const Plan::Values& values)
{
    std::vector<std::string> all;
    for (const auto& value : values)
        all.push_back(value.text);
    return all;
}

void Checker::check_rest(const char* read)
{
    const std::size_t size = plan_.message.size();
    if (size > always_whole && checked_++ % one_in != 0) return;
    if (std::memcmp(read + plan_.head, plan_.message.data() + plan_.head, size - plan_.head) != 0)
        throw std::runtime_error("a field was read whose values are not those that were archived");
}

void Checker::check(const Field& field, const char* read, std::size_t length)
{
    plan_.say(expected_.data(), field);
    if (length != plan_.message.size() || std::memcmp(read, expected_.data(), expected_.size()) != 0)
        throw std::runtime_error(std::to_string(length) + " bytes were read, not the requested field of " +
                                 std::to_string(plan_.message.size()) + " bytes");
    check_rest(read);
}

void Checker::check(const std::vector<Field>& fields, const char* read, std::size_t length)
{
    const std::size_t size = plan_.message.size();
    if (length != fields.size() * size)
        throw std::runtime_error(std::to_string(length) + " bytes were read, not " +
                                 std::to_string(fields.size()) + " fields of " + std::to_string(size));
    std::set<std::string> wanted;
    for (const auto& field : fields) {
        plan_.say(expected_.data(), field);
        wanted.insert(expected_);
    }
    for (const char* at = read; at != read + length; at += size) {
        if (wanted.erase(std::string(at, plan_.head)) == 0)
            throw std::runtime_error("a field was read that was not requested, or was read twice");
        check_rest(at);
    }
}

} // namespace stepstore::bench

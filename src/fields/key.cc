#include "fields/key.h"

#include "stepstore/error.h"

#include <daos_errno.h>

#include <algorithm>

namespace stepstore::fields {

namespace {

bool is_plain(char c)
{
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f && c != '%' && c != ',' && c != '=';
}

void escape(std::string& to, std::string_view text)
{
    append_escaped(to, text, is_plain);
}

[[noreturn]] void no_key(std::string_view text)
{
    constexpr std::size_t shown = 200;
    throw Error(
        -DER_DF_INVAL,
        "'" + std::string(text.substr(0, shown)) +
            "' does not have the form of a key (keyword=value,keyword=value). If it was read from a dataset, "
            "the dataset is damaged: `stepstore pool check` says what can be saved");
}

std::string unescape(std::string_view part, std::string_view whole)
{
    std::string plain;
    plain.reserve(part.size());
    const auto digit = [&](char c) {
        const std::size_t value = std::string_view(hex_digits).find(c);
        if (value == std::string_view::npos) no_key(whole);
        return static_cast<unsigned char>(value);
    };
    for (std::size_t i = 0; i < part.size(); ++i) {
        if (part[i] != '%') {
            plain += part[i];
            continue;
        }
        if (i + 2 >= part.size()) no_key(whole);
        plain += static_cast<char>(digit(part[i + 1]) << 4 | digit(part[i + 2]));
        i += 2;
    }
    return plain;
}

} // namespace

const std::string* Key::find(std::string_view keyword) const
{
    for (const Pair& pair : pairs_)
        if (pair.first == keyword) return &pair.second;
    return nullptr;
}

void Key::append_text(std::string& to) const
{
    bool first = true;
    for (const Pair& pair : pairs_) {
        if (!first) to += ',';
        first = false;
        escape(to, pair.first);
        to += '=';
        escape(to, pair.second);
    }
}

std::string Key::text() const
{
    std::string text;
    append_text(text);
    return text;
}

Key Key::parse(std::string_view text)
{
    Key key;
    if (text.empty()) return key;
    for (std::string_view left = text;;) {
        const std::size_t end = left.find(',');
        const std::string_view pair = left.substr(0, end);
        const std::size_t equals = pair.find('=');
        if (equals == std::string_view::npos) no_key(text);
        key.add(unescape(pair.substr(0, equals), text), unescape(pair.substr(equals + 1), text));
        if (end == std::string_view::npos) return key;
        left.remove_prefix(end + 1);
    }
}

bool Request::matches(const Key& key) const
{
    if (wanted_.empty()) return true;
    return std::ranges::all_of(key.pairs(),
                               [&](const Key::Pair& pair) { return matches(pair.first, pair.second); });
}

bool Request::matches(std::string_view keyword, std::string_view value) const
{
    const auto found = wanted_.find(keyword);
    return found == wanted_.end() || found->second.contains(value);
}

} // namespace stepstore::fields

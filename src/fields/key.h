// What fields are named by: keys, and requests that match several.
//
// A field's identifier is split by the caller's schema into a dataset key, a collocation key and an element
// key. Each is a list of keywords with one value each, in the order that the schema gives. Two keys are the
// same when their texts are: the order counts, so a caller always builds keys of one kind in the same order.
//
// Threads: a key or request is a value of one owner. Errors: -DER_DF_INVAL of Key::parse().
#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stepstore::fields {

inline constexpr char hex_digits[] = "0123456789ABCDEF";

// Appends the text with a %XX for each character that is not plain.
template <class IsPlain>
void append_escaped(std::string& to, std::string_view text, IsPlain is_plain)
{
    if (std::ranges::all_of(text, is_plain)) {
        to += text;
        return;
    }
    for (const char c : text) {
        if (is_plain(c)) {
            to += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        to += '%';
        to += hex_digits[byte >> 4];
        to += hex_digits[byte & 15];
    }
}

class Key {
public:
    using Pair = std::pair<std::string, std::string>; // keyword, value

    Key() = default;
    Key(std::initializer_list<Pair> pairs) : pairs_(pairs) {}

    void add(std::string keyword, std::string value)
    {
        pairs_.emplace_back(std::move(keyword), std::move(value));
    }
    const std::vector<Pair>& pairs() const { return pairs_; }
    bool empty() const { return pairs_.empty(); }
    // nullptr: it has no such keyword.
    const std::string* find(std::string_view keyword) const;

    // "keyword=value,keyword=value": how it is stored. '%', ',', '=' and control characters (also the zero
    // byte) are written as %XX. So keywords and values may hold any bytes, and the text holds no zero byte.
    // May be empty.
    std::string text() const;
    void append_text(std::string& to) const;
    // -DER_DF_INVAL: no text of a key.
    static Key parse(std::string_view text);

    friend bool operator==(const Key&, const Key&) = default;

private:
    std::vector<Pair> pairs_;
};

// Which fields are wanted: for some keywords the values that will do. A keyword that it does not name matches
// all, and so does a key that has no such keyword.
class Request {
public:
    Request() = default;
    Request(std::initializer_list<std::pair<const std::string, std::set<std::string, std::less<>>>> wanted)
        : wanted_(wanted)
    {
    }

    void add(const std::string& keyword, std::string value) { wanted_[keyword].insert(std::move(value)); }
    bool empty() const { return wanted_.empty(); }
    bool matches(const Key& key) const;
    bool matches(std::string_view keyword, std::string_view value) const;
    const std::map<std::string, std::set<std::string, std::less<>>, std::less<>>& wanted() const
    {
        return wanted_;
    }

private:
    std::map<std::string, std::set<std::string, std::less<>>, std::less<>> wanted_;
};

// The span of values of each keyword.
using Axes = std::map<std::string, std::set<std::string, std::less<>>, std::less<>>;

} // namespace stepstore::fields

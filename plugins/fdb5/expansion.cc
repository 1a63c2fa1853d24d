#include "expansion.h"

#include "fdb5/database/Catalogue.h"
#include "fdb5/types/Type.h"

#include <algorithm>
#include <unordered_set>

namespace stepstore::fdb_plugin {
namespace {

// of a keyword: what a program that asks for ever new values leaves behind
constexpr std::size_t most_known = 10000;

// Rules say only as a whole what they take.
struct Predicates : fdb5::Rule {
    using fdb5::Rule::predicates_;
};

// Whether the types would leave each value as it is. Numbers that the axis has as they stand are the same
// parameters ("perfect match", as metkit says). Asking metkit would first read its table of parameters, which
// takes longer than the rest of a first retrieve.
bool are_known_parameters(const fdb5::Type& type, const Values& asked, const fdb5::Axis& axis)
{
    return type.type() == "Param" && std::ranges::all_of(asked, [&](const std::string& value) {
               const bool number = !value.empty() && value.size() < 10 && value.front() != '0' &&
                                   std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
               return number && axis.find(value) != axis.end();
           });
}

} // namespace

std::vector<std::string> keywords_of(const fdb5::Rule& rule)
{
    std::vector<std::string> keywords;
    for (const auto& predicate : rule.*(&Predicates::predicates_))
        keywords.push_back(rule.registry().lookupType(predicate->keyword()).alias());
    return keywords;
}

RuleExpansion::RuleExpansion(const fdb5::Rule& rule) : rule_(&rule)
{
    for (const auto& predicate : rule.*(&Predicates::predicates_))
        spellings_.push_back({predicate.get(), {}, {}, nullptr});
    asked_.resize(spellings_.size());
}

// In the order of the request, in the spelling of keys. Empty: nothing that the predicate takes.
Values RuleExpansion::values_of(const fdb5::Predicate& predicate, const metkit::mars::MarsRequest& request,
                                const fdb5::CatalogueReader* catalogue) const
{
    // A type that there is not is an error, but only of a keyword that is looked at.
    const auto type_of = [&]() -> const fdb5::Type& {
        return rule_->registry().lookupType(predicate.keyword());
    };
    Values asked;
    if (request.countValues(predicate.keyword()) > 0) {
        const fdb5::Type& type = type_of();
        const auto axis = catalogue != nullptr ? catalogue->axis(type.alias()) : std::nullopt;
        const Values& given = request.values(predicate.keyword());
        if (axis && are_known_parameters(type, given, *axis))
            asked = given;
        else
            type.getValues(request, predicate.keyword(), asked, catalogue);
        if (axis) {
            std::erase_if(asked, [&](const std::string& value) {
                return axis->get().find(type.toKey(value)) == axis->get().end();
            });
        }
    } else if (predicate.optional()) {
        asked = predicate.optionalValues();
    }
    Values spelled;
    std::unordered_set<std::string> seen;
    for (const std::string& value : asked) {
        if (predicate.match(value)) {
            std::string key = value.empty() ? value : type_of().toKey(value);
            if (seen.insert(key).second) spelled.push_back(std::move(key));
        }
    }
    if (spelled.empty() && predicate.optional()) spelled.emplace_back();
    return spelled;
}

const Values& RuleExpansion::spell(Spelling& spelling, const Values& asked,
                                   const metkit::mars::MarsRequest& request,
                                   const fdb5::CatalogueReader* catalogue)
{
    text_.clear();
    for (const std::string& value : asked) {
        text_ += value;
        text_ += '\0';
    }
    if (spelling.last_values != nullptr && text_ == spelling.last) return *spelling.last_values;
    auto known = spelling.known.find(text_);
    if (known == spelling.known.end()) {
        Values values = values_of(*spelling.predicate, request, catalogue);
        if (spelling.known.size() >= most_known) {
            spelling.last_values = nullptr;
            spelling.known.clear();
        }
        known = spelling.known.emplace(text_, std::move(values)).first;
    }
    spelling.last = text_;
    spelling.last_values = &known->second;
    return known->second;
}

bool RuleExpansion::expand(const metkit::mars::MarsRequest& request, const fdb5::CatalogueReader* catalogue)
{
    for (std::size_t i = 0; i < spellings_.size(); ++i) {
        const Values& asked = request.values(spellings_[i].predicate->keyword(), true);
        asked_[i] = &spell(spellings_[i], asked, request, catalogue);
        if (asked_[i]->empty()) return false;
    }
    if (keywords_.empty()) keywords_ = keywords_of(*rule_);
    return !spellings_.empty();
}

void RuleExpansion::each(const std::function<void(const std::vector<const std::string*>& values)>& use) const
{
    std::vector<std::size_t> at(asked_.size());
    std::vector<const std::string*> values;
    for (const Values* all : asked_)
        values.push_back(&all->front());
    for (;;) {
        use(values);
        std::size_t level = at.size();
        while (level > 0 && ++at[level - 1] == asked_[level - 1]->size()) {
            --level;
            at[level] = 0;
            values[level] = &asked_[level]->front();
        }
        if (level == 0) return;
        values[level - 1] = &(*asked_[level - 1])[at[level - 1]];
    }
}

} // namespace stepstore::fdb_plugin

// From a request to keys: what FDB's rules make of a request's values, kept for the next request.
// Threads: one at a time. Errors: those of FDB's types, for a value that they do not know.
#pragma once

#include "fdb5/rules/Predicate.h"
#include "fdb5/rules/Rule.h"
#include "metkit/mars/MarsRequest.h"

#include <cstddef>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace fdb5 {
class CatalogueReader;
}

namespace stepstore::fdb_plugin {

using Values = std::vector<std::string>;

// A rule's keywords as keys have them, in its order. FDB's error when one's type is none.
std::vector<std::string> keywords_of(const fdb5::Rule& rule);

// A rule is a level of a schema. For every keyword of every request FDB asks the rule's types what the values
// mean (dates, parameters, steps). It also asks which ones the axes have, and how keys spell them. The answer
// depends only on the keyword's values and the axes, so it is kept. The owner drops it when the axes change.
class RuleExpansion {
public:
    explicit RuleExpansion(const fdb5::Rule& rule);

    // What the request asks for. catalogue: whose axes count; nullptr: none. False: nothing that the rule
    // takes.
    bool expand(const metkit::mars::MarsRequest& request, const fdb5::CatalogueReader* catalogue);
    // Each combination of values of the last expand(), one of each keyword, the last keyword's changing
    // fastest, as FDB's order is.
    void each(const std::function<void(const std::vector<const std::string*>& values)>& use) const;
    // The keywords as keys have them, in the rule's order. Once expand() has found something.
    const std::vector<std::string>& keywords() const { return keywords_; }

private:
    struct Spelling {
        const fdb5::Predicate* predicate;
        std::unordered_map<std::string, Values> known; // by the request's values, each with its end
        std::string last;                              // of them, and what it stands for
        const Values* last_values = nullptr;
    };

    const Values& spell(Spelling& spelling, const Values& asked, const metkit::mars::MarsRequest& request,
                        const fdb5::CatalogueReader* catalogue);
    Values values_of(const fdb5::Predicate& predicate, const metkit::mars::MarsRequest& request,
                     const fdb5::CatalogueReader* catalogue) const;

    const fdb5::Rule* rule_;
    std::vector<Spelling> spellings_;
    std::vector<std::string> keywords_;
    std::vector<const Values*> asked_; // for each keyword
    std::string text_;
};

} // namespace stepstore::fdb_plugin

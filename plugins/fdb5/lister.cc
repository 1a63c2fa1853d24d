#include "lister.h"

#include "failure.h"
#include "field_location.h"
#include "keys.h"

#include "eckit/exception/Exceptions.h"
#include "fdb5/database/DatabaseNotFoundException.h"
#include "fdb5/database/Manager.h"
#include "fdb5/rules/Rule.h"
#include "fdb5/rules/Schema.h"

namespace stepstore::fdb_plugin {

Lister::Lister(const fdb5::Config& config, const fdb5::FDBToolRequest& request, int level)
    : config_(config), request_(request.request()), level_(level),
      datasets_(fdb5::Manager(config_).visitableLocations(request_, request.all()))
{
}

const metkit::mars::MarsRequest& Lister::spelled(const fdb5::Rule& rule)
{
    auto found = spelled_.find(&rule);
    if (found == spelled_.end())
        found = spelled_.emplace(&rule, rule.registry().canonicalise(request_)).first;
    return found->second;
}

// False: nothing in it is wanted.
bool Lister::open_dataset(const eckit::URI& uri)
{
    indexes_.clear();
    next_index_ = 0;
    try {
        catalogue_ = std::make_unique<CatalogueReader>(uri, config_);
        catalogue_->open();
    } catch (const fdb5::DatabaseNotFoundException&) {
        return false; // wiped since it was found
    }
    if (!catalogue_->enabled(fdb5::ControlIdentifier::List) ||
        !catalogue_->key().partialMatch(spelled(catalogue_->rule()))) {
        return false;
    }
    if (level_ > 1) {
        indexes_ = catalogue_->indexes([&](const fdb5::Rule& rule) -> const auto& { return spelled(rule); },
                                       level_ > 2 ? Catalogue::AxesOf::all : Catalogue::AxesOf::any);
    }
    return true;
}

bool Lister::open_index(const fdb5::Index& index)
{
    const fdb5::Rule& rule = catalogue_->schema().matchingRule(catalogue_->key(), index.key());
    if (!index.partialMatch(spelled(rule.parent()), spelled(rule))) return false;
    index_key_ = index.key();
    if (level_ > 2) {
        unnamed_.clear();
        for (const auto& parameter : request_.parameters())
            unnamed_.insert(parameter.name());
        for (const auto& names : {catalogue_->key().names(), index_key_.names()})
            for (const auto& name : names)
                unnamed_.erase(name);
        fields_.emplace(dynamic_cast<const Index&>(*index.content()).fields(&spelled(rule), true));
    }
    return true;
}

bool Lister::next_field(fdb5::ListElement& element)
{
    while (fields_->next(field_)) {
        if (!unnamed_.empty()) {
            for (const auto& pair : field_.element.pairs())
                unnamed_.erase(pair.first);
            if (!unnamed_.empty()) continue; // the request names what such fields do not have
        }
        const auto& dataset = catalogue_->dataset_shared();
        element = fdb5::ListElement(catalogue_->key(), index_key_, named_in(field_.element),
                                    to_fdb(field_.entry.location, dataset)->stableLocation(),
                                    static_cast<std::time_t>(field_.entry.timestamp));
        return true;
    }
    return false;
}

bool Lister::next(fdb5::ListElement& element)
{
    return translated([&] {
        for (;;) {
            if (fields_) {
                if (next_field(element)) return true;
                fields_.reset();
            } else if (next_index_ < indexes_.size()) {
                if (open_index(indexes_[next_index_++]) && level_ == 2) {
                    element = fdb5::ListElement(catalogue_->key(), index_key_, 0);
                    return true;
                }
            } else if (next_dataset_ < datasets_.size()) {
                if (open_dataset(datasets_[next_dataset_++]) && level_ == 1) {
                    element = fdb5::ListElement(catalogue_->key(), 0);
                    return true;
                }
            } else {
                return false;
            }
        }
    });
}

} // namespace stepstore::fdb_plugin

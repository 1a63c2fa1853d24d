#include "inspection.h"

#include "failure.h"
#include "field_location.h"
#include "keys.h"

#include "daos_errno.h"

#include "eckit/log/Log.h"

#include <optional>

namespace stepstore::fdb_plugin {
namespace {

constexpr std::size_t most_datasets = 64; // that stay open
constexpr std::size_t most_indexes = 4096;

using Chosen = std::vector<const std::string*>; // a value of each keyword

std::string text_of(const Chosen& values)
{
    std::string text;
    for (const std::string* value : values) {
        text += *value;
        text += '\0';
    }
    return text;
}

fdb5::Key key_of(const std::vector<std::string>& keywords, const Chosen& values)
{
    fdb5::Key key;
    for (std::size_t i = 0; i < values.size(); ++i)
        key.push(keywords[i], *values[i]);
    return key;
}

} // namespace

Inspection::Inspection(const fdb5::Config& config)
    : config_(config), rules_(rules_of(configured_schema(config)))
{
    for (const auto& rule : rules_->list)
        datasets_.emplace_back(*rule);
}

std::vector<fdb5::ListElement> Inspection::fields_of(const metkit::mars::MarsRequest& request)
{
    const std::lock_guard lock(mutex_);
    Elements found;
    for (std::size_t i = 0; i < datasets_.size(); ++i) {
        RuleExpansion& rule = datasets_[i];
        if (!rule.expand(request, nullptr)) continue;
        rule.each([&](const Chosen& values) {
            const std::string text = std::to_string(i) + '/' + text_of(values);
            std::optional<fdb5::Key> key;
            for (int attempt = 0;; ++attempt) {
                OpenDataset* dataset = nullptr;
                if (const auto there = open_.find(text); there != open_.end()) {
                    dataset = &there->second;
                } else {
                    if (!key) key = key_of(rule.keywords(), values);
                    dataset = opened(*key, text);
                }
                if (dataset == nullptr) return;
                const std::size_t before = found.size();
                try {
                    inspect(*dataset, request, found);
                    return;
                } catch (const Error& error) {
                    if (error.code() != -DER_STALE || attempt > 0) rethrow(error);
                }
                found.erase(found.begin() + static_cast<std::ptrdiff_t>(before), found.end());
                open_.erase(text); // it was wiped: perhaps there is a new one
            }
        });
    }
    return found;
}

// nullptr: there is none, or it is locked.
Inspection::OpenDataset* Inspection::opened(const fdb5::Key& key, const std::string& values)
{
    auto catalogue = std::make_unique<CatalogueReader>(key, config_);
    if (!catalogue->enabled(fdb5::ControlIdentifier::Retrieve)) {
        eckit::Log::warning() << "Catalogue " << *catalogue << " is LOCKED for retrieval" << std::endl;
        return nullptr;
    }
    if (!catalogue->open()) return nullptr;
    OpenDataset dataset;
    dataset.rules = rules_of(schema_text(*catalogue->dataset_shared(), config_));
    for (const auto& rule : dataset.rules->matching(key).rules())
        dataset.levels.push_back({rule.get(), RuleExpansion(*rule), {}});
    dataset.catalogue = std::move(catalogue);
    if (open_.size() >= most_datasets) open_.clear();
    return &open_.emplace(values, std::move(dataset)).first->second;
}

void Inspection::inspect(OpenDataset& dataset, const metkit::mars::MarsRequest& request, Elements& found)
{
    for (IndexLevel& level : dataset.levels) {
        if (!level.expansion.expand(request, dataset.catalogue.get())) continue;
        level.expansion.each([&](const Chosen& values) {
            const std::string text = text_of(values);
            auto index = level.indexes.find(text);
            if (index == level.indexes.end()) {
                if (level.indexes.size() >= most_indexes) level.indexes.clear();
                index = level.indexes.try_emplace(text).first;
                index->second.key = key_of(level.expansion.keywords(), values);
                index->second.collocation = to_fields(index->second.key);
            }
            inspect(dataset, level, index->second, request, found);
        });
    }
}

void Inspection::inspect(OpenDataset& dataset, IndexLevel& level, IndexInUse& index,
                         const metkit::mars::MarsRequest& request, Elements& found)
{
    CatalogueReader& catalogue = *dataset.catalogue;
    auto axes = catalogue.reader().axes(index.collocation); // looks for what is new
    if (axes == nullptr || axes->empty()) {
        keywords_of(level.rule->rule()); // as CatalogueReader::selectIndex
        return;
    }
    if (index.axes != axes) {
        index.element = std::make_unique<RuleExpansion>(level.rule->rule());
        index.axes = axes;
    }
    catalogue.show_axes(std::move(axes));
    if (!index.element->expand(request, &catalogue)) return;
    const auto& keywords = index.element->keywords();
    index.element->each([&](const Chosen& values) {
        fields::Key element;
        for (std::size_t i = 0; i < values.size(); ++i)
            element.add(keywords[i], *values[i]);
        const auto entry = catalogue.reader().find(index.collocation, element, false);
        if (!entry) return;
        found.emplace_back(catalogue.key(), index.key, named_in(element),
                           to_fdb(entry->location, catalogue.dataset_shared())->stableLocation(),
                           static_cast<std::time_t>(entry->timestamp));
    });
}

} // namespace stepstore::fdb_plugin

#include "steps/profile/profile.h"

#include <cstdio>

namespace stepstore::steps {

namespace {

// All members of Costs: one list for adding and subtracting.
template <class Each>
void each_cost(Costs& a, const Costs& b, Each&& each)
{
    each(a.encode, b.encode);
    each(a.store, b.store);
    each(a.snapshot, b.snapshot);
    each(a.read, b.read);
    each(a.broadcast, b.broadcast);
    each(a.install, b.install);
    each(a.wait, b.wait);
    each(a.data, b.data);
    each(a.statistics, b.statistics);
    each(a.metadata_bytes, b.metadata_bytes);
    each(a.metadata_requests, b.metadata_requests);
    each(a.data_bytes, b.data_bytes);
    each(a.data_requests, b.data_requests);
}

void append_number(std::string& text, const char* name, std::uint64_t value)
{
    text += ",\"" + std::string(name) + "\":" + std::to_string(value);
}

void append_seconds(std::string& text, const char* name, double value)
{
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.9f", value);
    text += ",\"" + std::string(name) + "_seconds\":" + digits;
}

void append_costs(std::string& text, const Costs& costs)
{
    append_seconds(text, "stabilisation", costs.stabilisation());
    append_seconds(text, "encode", costs.encode);
    append_seconds(text, "store", costs.store);
    append_seconds(text, "snapshot", costs.snapshot);
    append_seconds(text, "acquisition", costs.acquisition());
    append_seconds(text, "read", costs.read);
    append_seconds(text, "broadcast", costs.broadcast);
    append_seconds(text, "install", costs.install);
    append_seconds(text, "wait", costs.wait);
    append_seconds(text, "data", costs.data);
    append_seconds(text, "statistics", costs.statistics);
    append_number(text, "metadata_bytes", costs.metadata_bytes);
    append_number(text, "metadata_requests", costs.metadata_requests);
    append_number(text, "data_bytes", costs.data_bytes);
    append_number(text, "data_requests", costs.data_requests);
}

} // namespace

void Costs::add(const Costs& other)
{
    each_cost(*this, other, [](auto& to, auto from) { to += from; });
}

void Profile::end_step(std::uint64_t step)
{
    ++steps_;
    Costs now = *this;
    each_cost(now, before_, [](auto& to, auto from) { to -= from; });
    before_ = *this;
    const std::uint64_t width = rows_.empty() ? 1 : rows_.front().steps;
    if (!rows_.empty() && rows_.back().steps < width) {
        ++rows_.back().steps;
        rows_.back().costs.add(now);
        return;
    }
    if (rows_.size() == most_rows) { // all are full
        for (std::size_t i = 0; i < most_rows / 2; ++i) {
            Row merged = rows_[2 * i];
            merged.steps += rows_[2 * i + 1].steps;
            merged.costs.add(rows_[2 * i + 1].costs);
            rows_[i] = merged;
        }
        rows_.resize(most_rows / 2);
    }
    rows_.push_back({step, 1, now});
}

std::string Profile::json(int rank) const
{
    std::string text = "{\"rank\":" + std::to_string(rank);
    append_number(text, "steps", steps_);
    append_costs(text, *this);
    text += ",\"rows\":[";
    for (const Row& row : rows_) {
        text += (&row == rows_.data() ? "{\"step\":" : ",{\"step\":") + std::to_string(row.first);
        append_number(text, "steps", row.steps);
        append_costs(text, row.costs);
        text += "}";
    }
    return text + "]}";
}

} // namespace stepstore::steps

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
    each(a.hidden, b.hidden);
    each(a.data, b.data);
    each(a.statistics, b.statistics);
    each(a.metadata_bytes, b.metadata_bytes);
    each(a.metadata_requests, b.metadata_requests);
    each(a.data_bytes, b.data_bytes);
    each(a.data_requests, b.data_requests);
}

std::string text_of(double seconds)
{
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.9f", seconds);
    return digits;
}
std::string text_of(std::uint64_t number)
{
    return std::to_string(number);
}

// All that is told of costs, by its name.
template <class Each>
void each_told(Each&& each)
{
    each("stabilisation_seconds", [](const Costs& costs) { return costs.stabilisation(); });
    each("encode_seconds", [](const Costs& costs) { return costs.encode; });
    each("store_seconds", [](const Costs& costs) { return costs.store; });
    each("snapshot_seconds", [](const Costs& costs) { return costs.snapshot; });
    each("acquisition_seconds", [](const Costs& costs) { return costs.acquisition(); });
    each("read_seconds", [](const Costs& costs) { return costs.read; });
    each("broadcast_seconds", [](const Costs& costs) { return costs.broadcast; });
    each("install_seconds", [](const Costs& costs) { return costs.install; });
    each("wait_seconds", [](const Costs& costs) { return costs.wait; });
    each("hidden_seconds", [](const Costs& costs) { return costs.hidden; });
    each("data_seconds", [](const Costs& costs) { return costs.data; });
    each("statistics_seconds", [](const Costs& costs) { return costs.statistics; });
    each("metadata_bytes", [](const Costs& costs) { return costs.metadata_bytes; });
    each("metadata_requests", [](const Costs& costs) { return costs.metadata_requests; });
    each("data_bytes", [](const Costs& costs) { return costs.data_bytes; });
    each("data_requests", [](const Costs& costs) { return costs.data_requests; });
}

template <class Value>
std::string column(const std::vector<Profile::Row>& rows, Value value)
{
    std::string text = "[";
    for (const Profile::Row& row : rows)
        text += (text.size() == 1 ? "" : ",") + text_of(value(row));
    return text + "]";
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
    std::string text = "{\"rank\":" + std::to_string(rank) + ",\"steps\":" + std::to_string(steps_);
    const auto append = [&](std::string_view name, std::string_view value) {
        text.append(",\"").append(name).append("\":").append(value);
    };
    each_told([&](const char* name, auto cost) { append(name, text_of(cost(*this))); });
    text += ",\"rows\":{\"step\":" + column(rows_, [](const Row& row) { return row.first; });
    append("steps", column(rows_, [](const Row& row) { return row.steps; }));
    each_told([&](const char* name, auto cost) {
        if (cost(*this) > 0) append(name, column(rows_, [&](const Row& row) { return cost(row.costs); }));
    });
    return text + "}}";
}

} // namespace stepstore::steps

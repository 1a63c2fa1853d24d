#include "steps/profile.h"

#include <cstdio>

namespace stepstore::steps {

void Profile::add(const Profile& other)
{
    steps += other.steps;
    encode += other.encode;
    store += other.store;
    read += other.read;
    broadcast += other.broadcast;
    install += other.install;
    wait += other.wait;
    data += other.data;
    statistics += other.statistics;
    metadata_bytes += other.metadata_bytes;
    metadata_requests += other.metadata_requests;
    data_bytes += other.data_bytes;
    data_requests += other.data_requests;
}

std::string Profile::json(int rank) const
{
    std::string text = "{\"rank\":" + std::to_string(rank);
    const auto number = [&](const char* name, std::uint64_t value) {
        text += ",\"" + std::string(name) + "\":" + std::to_string(value);
    };
    const auto seconds = [&](const char* name, double value) {
        char digits[40];
        std::snprintf(digits, sizeof digits, "%.9f", value);
        text += ",\"" + std::string(name) + "_seconds\":" + digits;
    };
    number("steps", steps);
    seconds("stabilisation", stabilisation());
    seconds("encode", encode);
    seconds("store", store);
    seconds("acquisition", acquisition());
    seconds("read", read);
    seconds("broadcast", broadcast);
    seconds("install", install);
    seconds("wait", wait);
    seconds("data", data);
    seconds("statistics", statistics);
    number("metadata_bytes", metadata_bytes);
    number("metadata_requests", metadata_requests);
    number("data_bytes", data_bytes);
    number("data_requests", data_requests);
    return text + "}";
}

std::string profile_record(std::string_view layout, const std::vector<std::string>& ranks)
{
    std::string text = "{\"version\":1,\"layout\":\"" + std::string(layout) + "\",\"ranks\":[";
    for (std::size_t i = 0; i < ranks.size(); ++i)
        text += (i > 0 ? "," : "") + ranks[i];
    return text + "]}";
}

} // namespace stepstore::steps

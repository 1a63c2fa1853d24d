// A pool with fields, on each back end, and what tests of fields say often.
#pragma once

#include "fields/catalogue.h"
#include "fields/listing.h"
#include "fields/maintenance.h"
#include "fields/session.h"
#include "fields/store_reader.h"
#include "fields/store_writer.h"
#include "stepstore/admin.h"
#include "stepstore/administration.h"
#include "support/errors.h"
#include "support/location.h"
#include "support/temporary.h"

#include <daos_errno.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace stepstore::fields::testing {

using stepstore::testing::error_of;
using stepstore::testing::new_pool;
using stepstore::testing::TemporaryDirectory;

inline std::vector<std::byte> bytes_of(std::string_view text)
{
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return {first, first + text.size()};
}

// Bytes that tell whose they are.
inline std::vector<std::byte> pattern(std::size_t size, std::uint64_t seed)
{
    std::vector<std::byte> bytes(size);
    std::uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
    for (std::byte& byte : bytes) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        byte = static_cast<std::byte>(state >> 56);
    }
    return bytes;
}

inline Key dataset_key(const std::string& expver = "0001")
{
    return {{"class", "od"}, {"expver", expver}, {"stream", "oper"}, {"date", "20261122"}, {"time", "0000"}};
}

inline Key collocation_key(int number = 1)
{
    return {{"type", "pf"}, {"levtype", "pl"}, {"number", std::to_string(number)}};
}

inline Key element_key(int step, int param = 130, int level = 500)
{
    return {{"step", std::to_string(step)},
            {"param", std::to_string(param)},
            {"levelist", std::to_string(level)}};
}

inline std::string default_backend()
{
    return stepstore::testing::on_rados() ? "rados" : stepstore::testing::in_files() ? "files" : "lmdb";
}

inline void create_pool(const std::string& location, const std::string& backend, bool power = false)
{
    stepstore_pool_options options{};
    options.backend = backend.c_str();
    options.targets = 4;
    options.power = power ? 1 : 0;
    if (stepstore_pool_create(location.c_str(), &options) != 0)
        throw std::runtime_error(stepstore_last_message());
}

// Archives, flushes, retrieves: as a caller does it.
struct Fields {
    explicit Fields(std::shared_ptr<Dataset> of, const WriterOptions& options = {})
        : dataset(of), store(of, options), catalogue(of)
    {
    }
    FieldLocation archive(const Key& collocation, const Key& element, Bytes data, std::uint64_t time = 0)
    {
        const FieldLocation location = store.archive(data);
        catalogue.archive(collocation, element, location, time);
        return location;
    }
    void flush()
    {
        store.flush(false);
        catalogue.flush();
    }

    std::shared_ptr<Dataset> dataset;
    StoreWriter store;
    CatalogueWriter catalogue;
};

inline std::optional<std::vector<std::byte>> retrieve(const std::shared_ptr<Dataset>& dataset,
                                                      const Key& collocation, const Key& element)
{
    const auto entry = CatalogueReader(dataset).find(collocation, element);
    if (!entry) return std::nullopt;
    return StoreReader(dataset).read(std::get<FieldLocation>(entry->location));
}

// "collocation|element" of every field.
inline std::map<std::string, ListedField> list(const std::shared_ptr<Dataset>& dataset,
                                               const Request& request = {})
{
    std::map<std::string, ListedField> found;
    Listing listing(dataset, request);
    for (ListedField field; listing.next(field);) {
        const auto name = field.collocation->text() + "|" + field.element.text();
        EXPECT_TRUE(found.emplace(name, field).second) << name << " is listed twice";
    }
    return found;
}

// How many array objects there are in a container.
inline std::size_t arrays_in(const std::string& location, const std::string& label)
{
    const Container container =
        Pool::connect(location, Access::read_only).open_container(label, Access::read_only);
    const auto objects = list_objects(container, false);
    return static_cast<std::size_t>(std::ranges::count_if(objects, &ObjectInfo::array));
}

inline std::string pool_damage(const std::string& location)
{
    std::string damage;
    check_pool(location, true, false, [&](const Finding& finding) {
        if (finding.severity == Finding::Severity::damage)
            damage += finding.where + ": " + finding.what + "\n";
    });
    return damage;
}

// Each test on memory and LMDB, or on Ceph.
class FieldsTest : public ::testing::TestWithParam<std::string> {
protected:
    FieldsTest() : location(new_pool(directory))
    {
        create_pool(location, GetParam());
        session = Session::open(location, Access::read_write);
    }
    ~FieldsTest() override
    {
        session.reset();
        Session::release();
    }
    std::shared_ptr<Dataset> make(const Key& key = dataset_key()) { return session->create(key); }

    TemporaryDirectory directory;
    std::string location;
    std::shared_ptr<Session> session;
};

inline auto backends_of_fields()
{
    return ::testing::ValuesIn(stepstore::testing::on_rados()   ? std::vector<std::string>{"rados"}
                               : stepstore::testing::in_files() ? std::vector<std::string>{"files"}
                                                                : std::vector<std::string>{"memory", "lmdb"});
}

#define INSTANTIATE_FIELDS(suite)                                                                            \
    INSTANTIATE_TEST_SUITE_P(Backends, suite, backends_of_fields(),                                          \
                             [](const auto& info) { return info.param; })

} // namespace stepstore::fields::testing

// Damage: one rank's metadata of one step is changed in its place, however the stream keeps its steps.
#pragma once

#include "steps/layouts/aggregation.h"
#include "steps/layouts/data_files.h"
#include "steps/layouts/layout.h"
#include "steps/layouts/reference/step_snapshots.h"
#include "steps/stream/stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>

namespace stepstore::steps::testing {

class AlteredMetadata {
public:
    AlteredMetadata(std::uint64_t step, std::uint32_t rank) : step_(step), rank_(rank) {}

    void change(const std::string& location, const std::function<void(std::vector<std::byte>&)>& change) const
    {
        const OpenedStream opened = find_stream(location);
        const Pool pool = Pool::connect(opened.location.pool);
        Container container = pool.open_container(opened.location.container);
        const StreamRecord record = segment_record_of(opened.record, step_);
        if (record.in_place())
            change_in_place(container, record, [&] { change_now(pool, container, record, change); });
        else
            change_now(pool, container, record, change);
    }

private:
    // Puts back what the objects held at the step, and makes its snapshot of what `change` makes of them.
    void change_in_place(Container& container, const StreamRecord& record,
                         const std::function<void()>& change) const
    {
        KeyValue side = container.key_value(record.side);
        const auto value = side.get(snapshot_key(step_));
        const Container then = container.at_snapshot(decode_snapshot(*value, step_).epoch);
        const KeyValue side_then = then.key_value(record.side, Access::read_only);
        for (const std::string& key : side_then.list())
            if (!key.starts_with("Step")) side.put(key, *side_then.get(key));
        for (std::uint32_t rank = 0; rank < record.ranks; ++rank) {
            const ObjectId home = record.metadata_of(step_, rank);
            if (record.objects != Objects::single &&
                layout_of(record).metadata_type == ObjectType::key_value) {
                const KeyValue from = then.key_value(home, Access::read_only);
                for (const std::string& key : from.list())
                    container.key_value(home).put(key, *from.get(key));
                continue;
            }
            const Array from = then.open_array(home, {1, record.chunk_size}, Access::read_only);
            std::vector<std::byte> all(from.size());
            from.read(0, all);
            if (!all.empty()) container.open_array(home, {1, record.chunk_size}).write(0, all);
        }
        change();
        side.put(snapshot_key(step_), encode_snapshot(step_, {container.create_snapshot(), false}));
    }

    void change_now(const Pool& pool, const Container& container, const StreamRecord& record,
                    const std::function<void(std::vector<std::byte>&)>& change) const
    {
        const std::vector<std::byte> before =
            open_layout({pool, container, record})->fetch_metadata(step_, rank_);
        std::vector<std::byte> after = before;
        change(after);
        if (record.ranks_per_aggregator < 2) return replace(pool, container, record, rank_, before, after);
        const StreamRecord rows = record_of_rows(record);
        const std::uint32_t row = rank_ / record.ranks_per_aggregator;
        const auto bundle = layout_of(rows).reader({pool, container, rows})->fetch_metadata(step_, row);
        replace(pool, container, rows, row, bundle, changed_bundle(bundle, before, after));
    }

    // Who can make metadata that is whole can make such a bundle too.
    static std::vector<std::byte> changed_bundle(std::vector<std::byte> bundle, Bytes before, Bytes after)
    {
        MetadataHeader header, of_rank;
        EXPECT_EQ(inspect_metadata(bundle, header), MetadataState::whole);
        std::ranges::copy(after, std::ranges::search(bundle, before).begin());
        if (inspect_metadata(after, of_rank) == MetadataState::whole) seal_metadata(header, bundle);
        return bundle;
    }

    void replace(const Pool& pool, const Container& container, const StreamRecord& record, std::uint32_t rank,
                 Bytes before, Bytes metadata) const
    {
        const ObjectId home = record.metadata_of(step_, rank);
        if (record.objects != Objects::single && layout_of(record).metadata_type == ObjectType::key_value) {
            ASSERT_TRUE(change_value(container.key_value(home), before, metadata));
            return;
        }
        Array array = container.open_array(home, {1, record.chunk_size});
        std::vector<std::byte> all(array.size());
        array.read(0, all);
        const auto at = std::search(all.begin(), all.end(), before.begin(), before.end());
        if (at != all.end())
            array.write(static_cast<std::uint64_t>(at - all.begin()), metadata);
        else if (!change_value(container.key_value(record.side), before, metadata))
            change_file(segment_directory(pool.location(), record) / "metadata", before, metadata);
    }

    // Whatever its key. The copies of parts are not the metadata, even where their bytes are the same.
    bool change_value(KeyValue keys, Bytes before, Bytes after) const
    {
        for (const std::string& key : keys.list()) {
            if (key == copy_key(step_, rank_, MetadataPart::plan) ||
                key == copy_key(step_, rank_, MetadataPart::definitions))
                continue;
            const auto value = keys.get(key);
            if (!value || !std::ranges::equal(*value, before)) continue;
            keys.put(key, after);
            return true;
        }
        return false;
    }

    static void change_file(const std::string& path, Bytes before, Bytes after)
    {
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        std::string all((std::istreambuf_iterator<char>(file)), {});
        const std::size_t at = all.find(as_text(before));
        ASSERT_NE(at, std::string::npos);
        file.clear();
        file.seekp(static_cast<std::streamoff>(at));
        file.write(reinterpret_cast<const char*>(after.data()), static_cast<std::streamsize>(after.size()));
    }

    std::uint64_t step_;
    std::uint32_t rank_;
};

} // namespace stepstore::steps::testing

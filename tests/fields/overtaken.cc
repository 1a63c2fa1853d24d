// A process that is stopped before one of its calls, while others wipe, make, copy and purge datasets. What
// they have made meanwhile stays, and so does what it is making itself.
#include "support/overtaken.h"
#include "base/bytes.h"
#include "fields/fixture.h"

namespace stepstore::fields::testing {
namespace {

using stepstore::testing::Overtaken;

class OvertakenFields : public ::testing::Test {
protected:
    void begin_anew(std::size_t number)
    {
        Session::release();
        location = new_pool(directory, std::to_string(number));
        create_pool(location, default_backend());
    }
    std::shared_ptr<Session> session() const { return Session::open_own(location, Access::read_write); }
    static void archive(const std::shared_ptr<Dataset>& dataset, std::string_view value)
    {
        Fields fields(dataset);
        fields.archive(collocation_key(), element_key(1), bytes_of(value));
        fields.flush();
    }
    std::string stored(const Key& key = dataset_key()) const
    {
        const auto dataset = session()->find(key);
        if (!dataset) return "no dataset";
        const auto value = retrieve(dataset, collocation_key(), element_key(1));
        return value ? std::string(as_text(*value)) : "no field";
    }
    void replace() const
    {
        const auto others = session();
        wipe(*others, dataset_key());
        archive(others->create(dataset_key()), "newer");
    }

    TemporaryDirectory directory;
    Overtaken overtaken;
    std::string location;
};

TEST_F(OvertakenFields, AWipeLeavesTheDatasetThatOthersMadeMeanwhile)
{
    int left = 0;
    for (std::size_t at = 0;; ++at) {
        SCOPED_TRACE("call " + std::to_string(at));
        begin_anew(at);
        archive(session()->create(dataset_key()), "old");
        bool wiped = false, replaced = false;
        if (!overtaken.run(
                at,
                [&] {
                    replace();
                    replaced = true;
                },
                [&] { wiped = wipe(*session(), dataset_key()); }))
            break;
        ASSERT_TRUE(replaced);
        const std::string now = stored();
        // Wiped: before the others came, or all of what they had made, found by its new name.
        EXPECT_TRUE(now == "newer" || (now == "no dataset" && wiped)) << now;
        left += now == "newer" ? 1 : 0;
        EXPECT_TRUE(purge_pool(*session()).empty());
        EXPECT_EQ(pool_damage(location), "");
    }
    EXPECT_GT(left, 1);
}

// Datasets are identified by labels that no other one ever has, so what a wipe looked up is what it removes.
TEST_F(OvertakenFields, AWipeRemovesTheEntryThatItHasRead)
{
    int calls = 0;
    for (std::size_t at = 0;; ++at) {
        SCOPED_TRACE("call " + std::to_string(at));
        begin_anew(at);
        const auto mine = session();
        archive(mine->create(dataset_key()), "old");
        const std::string label = mine->root_entry(dataset_key().text()).value();
        bool removed = true;
        if (!overtaken.run(
                at, [&] { replace(); },
                [&] { removed = mine->remove_root_entry(dataset_key().text(), label); }))
            break;
        ++calls;
        EXPECT_FALSE(removed);
        EXPECT_EQ(stored(), "newer");
    }
    EXPECT_GT(calls, 1);
}

TEST_F(OvertakenFields, ACopyIsNotPurgedWhileItIsMade)
{
    const Key as = dataset_key("copy");
    for (std::size_t at = 0;; ++at) {
        SCOPED_TRACE("call " + std::to_string(at));
        begin_anew(at);
        archive(session()->create(dataset_key()), "value");
        const auto from = session();
        const auto to = session();
        if (!overtaken.run(
                at, [&] { purge_pool(*session()); }, [&] { copy(from->find(dataset_key()), *to, as); }))
            break;
        EXPECT_EQ(overtaken.failure(), nullptr);
        EXPECT_EQ(stored(as), "value");
        EXPECT_TRUE(purge_pool(*session()).empty());
    }
}

TEST_F(OvertakenFields, APurgeLeavesWhatWasMadeMeanwhile)
{
    const Key as = dataset_key("copy");
    for (std::size_t at = 0;; ++at) {
        SCOPED_TRACE("call " + std::to_string(at));
        begin_anew(at);
        archive(session()->create(dataset_key()), "value");
        // What a process left that died as it wiped.
        const auto dead = session();
        const std::string label = dead->make_label(dataset_key("dead"));
        dead->pool().create_container(label);
        std::vector<std::string> purged;
        const auto others = [&] {
            const auto to = session();
            copy(session()->find(dataset_key()), *to, as);
        };
        if (!overtaken.run(at, others, [&] { purged = purge_pool(*session()); })) break;
        EXPECT_EQ(overtaken.failure(), nullptr);
        EXPECT_EQ(purged, std::vector<std::string>{label});
        EXPECT_EQ(stored(as), "value");
        EXPECT_EQ(stored(), "value");
    }
}

// Runs the others' work before each read of a part of an index page, so many times.
class BeforeEachPart {
public:
    BeforeEachPart(int times, std::function<void()> others)
    {
        state() = {Library::ours(), times, std::move(others)};
        Library changed = Library::ours();
        changed.kv_get = [](daos_handle_t object, daos_handle_t transaction, std::uint64_t flags,
                            const char* key, daos_size_t* size, void* into, daos_event_t* event) {
            State& now = state();
            if (std::string_view(key).starts_with("p/") && !now.busy && now.left > 0) {
                now.busy = true;
                --now.left;
                now.others();
                now.busy = false;
            }
            return now.real.kv_get(object, transaction, flags, key, size, into, event);
        };
        Library::replace_ours(changed);
    }
    ~BeforeEachPart() { Library::restore_ours(); }
    BeforeEachPart(const BeforeEachPart&) = delete;
    BeforeEachPart& operator=(const BeforeEachPart&) = delete;
    int left() const { return state().left; }

private:
    struct State {
        Library real;
        int left = 0;
        std::function<void()> others;
        bool busy = false;
    };
    static State& state()
    {
        static State state;
        return state;
    }
};

// Purges that come again and again are no damage. A part that is missing without any purge is, at once.
TEST_F(OvertakenFields, OnlyAMissingPartOfAPageThatStillCountsIsDamage)
{
    begin_anew(0);
    const auto writer = session()->create(dataset_key());
    const std::string large(4000, 'x'); // so its page does not lie in the record
    const auto publish = [&] {
        CatalogueWriter catalogue(writer);
        catalogue.archive(collocation_key(), element_key(1), large);
        catalogue.archive(collocation_key(), element_key(2), large);
        catalogue.flush();
    };
    const std::pair<const char*, std::function<void()>> readers[] = {
        {"find",
         [&] {
             const auto mine = session();
             EXPECT_TRUE(CatalogueReader(mine->find(dataset_key())).find(collocation_key(), element_key(1)));
         }},
        {"list",
         [&] {
             const auto mine = session();
             EXPECT_EQ(list(mine->find(dataset_key())).size(), 2U);
         }},
        {"statistics",
         [&] {
             const auto mine = session();
             EXPECT_EQ(statistics(mine->find(dataset_key())).fields, 2U);
         }},
        {"purge",
         [&] {
             const auto mine = session();
             purge(mine->find(dataset_key()));
         }},
    };
    publish();
    publish();
    for (const auto& [name, read] : readers) {
        SCOPED_TRACE(name);
        const BeforeEachPart purged(100, [&] {
            publish();
            purge(writer);
        });
        EXPECT_NO_THROW(read());
        EXPECT_EQ(purged.left(), 0);
    }
    publish();
    for (const auto& info : list_objects(writer->container(), false)) {
        if (!info.key_value) continue;
        KeyValue pages = writer->open_key_value(info.id);
        for (const std::string& key : pages.list_below("p/"))
            pages.remove(key);
    }
    for (const auto& [name, read] : readers) {
        SCOPED_TRACE(name);
        int rounds = 0;
        const BeforeEachPart counted(1000, [&] { ++rounds; });
        const Error error = error_of(read);
        EXPECT_EQ(error.code(), -DER_IO) << error.what();
        EXPECT_LE(rounds, 4);
    }
}

TEST_F(OvertakenFields, AMakerIsNotPurged)
{
    for (std::size_t at = 0;; ++at) {
        SCOPED_TRACE("call " + std::to_string(at));
        begin_anew(at);
        if (!overtaken.run(
                at, [&] { purge_pool(*session()); },
                [&] { archive(session()->create(dataset_key()), "value"); }))
            break;
        EXPECT_EQ(overtaken.failure(), nullptr);
        EXPECT_EQ(stored(), "value");
    }
}

} // namespace
} // namespace stepstore::fields::testing

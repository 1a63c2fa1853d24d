#include "from_plan.h"

#include "refusing_catalogue.h"

#include "eckit/io/DataHandle.h"
#include "eckit/serialisation/Reanimator.h"
#include "fdb5/api/local/ListVisitor.h"
#include "fdb5/database/DbStats.h"
#include "fdb5/database/FieldLocation.h"
#include "fdb5/database/Index.h"
#include "fdb5/database/IndexLocation.h"
#include "fdb5/database/IndexStats.h"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>

namespace stepstore::bench {
namespace {

constexpr const char* type_name = "plan";

// What varies, in the order of Field's members.
constexpr const char* names[] = {"number", "step", "param", "levelist"};

const Work* served = nullptr;

// The file of messages, read in turn. Every process begins at another one.
class Copies {
public:
    void open(const std::string& path, std::size_t size)
    {
        file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        struct stat status {};
        if (file_ < 0 || fstat(file_, &status) != 0)
            throw std::runtime_error(path + ": the file cannot be read");
        count_ = static_cast<std::size_t>(status.st_size) / size;
        if (count_ == 0) throw std::runtime_error(path + ": the file has no message");
    }
    void read(char* to, std::size_t size)
    {
        if (next_ == 0) next_ = static_cast<std::size_t>(getpid()) * 61;
        const std::size_t which = next_++ % count_;
        if (pread(file_, to, size, static_cast<off_t>(which * size)) != static_cast<ssize_t>(size))
            throw std::runtime_error("a message cannot be read");
    }

private:
    int file_ = -1;
    std::size_t count_ = 0;
    std::size_t next_ = 0;
};

Copies copies;
std::unordered_map<std::string, int> positions[std::size(names)]; // of each value

int& member(Field& field, std::size_t which)
{
    return *std::array{&field.number, &field.step, &field.param, &field.level}[which];
}

// Of the names that the key has; false: the plan has no such value.
bool find(const fdb5::Key& key, Field& field)
{
    for (std::size_t which = 0; which < std::size(names); ++which) {
        const auto [pair, there] = key.find(names[which]);
        if (!there) continue;
        const auto found = positions[which].find(pair->second);
        if (found == positions[which].end()) return false;
        member(field, which) = found->second;
    }
    return true;
}

// Messages one after the other.
class Handle final : public eckit::DataHandle {
public:
    explicit Handle(std::vector<Field> fields) : fields_(std::move(fields)) {}
    eckit::Length openForRead() override
    {
        next_ = 0;
        return estimate();
    }
    long read(void* buffer, long length) override
    {
        const auto size = static_cast<long>(served->plan.message.size());
        long done = 0;
        for (; next_ < fields_.size() && length - done >= size; ++next_, done += size) {
            char* to = static_cast<char*>(buffer) + done;
            copies.read(to, static_cast<std::size_t>(size));
            served->plan.say(to, fields_[next_]);
        }
        return done;
    }
    void close() override {}
    bool canSeek() const override { return true; }
    eckit::Length estimate() override
    {
        return static_cast<long long>(fields_.size() * served->plan.message.size());
    }
    eckit::Length size() override { return estimate(); }
    bool merge(eckit::DataHandle* other) override
    {
        auto* handle = dynamic_cast<Handle*>(other);
        if (handle == nullptr) return false;
        fields_.insert(fields_.end(), handle->fields_.begin(), handle->fields_.end());
        return true;
    }
    void print(std::ostream& out) const override { out << type_name; }

private:
    std::vector<Field> fields_;
    std::size_t next_ = 0;
};

class Location final : public fdb5::FieldLocation, public std::enable_shared_from_this<Location> {
public:
    explicit Location(const Field& field)
        : FieldLocation(eckit::URI(type_name, "field"), 0,
                        static_cast<long long>(served->plan.message.size()), fdb5::Key()),
          field_(field)
    {
    }
    eckit::DataHandle* dataHandle() const override { return new Handle({field_}); }
    std::shared_ptr<const fdb5::FieldLocation> make_shared() const override { return shared_from_this(); }
    void visit(fdb5::FieldLocationVisitor& visitor) const override { visitor(*this); }
    const eckit::ReanimatorBase& reanimator() const override { refuse(); }

private:
    Field field_;
};

class IndexLocation final : public fdb5::IndexLocation {
public:
    eckit::URI uri() const override { return eckit::URI(type_name, "index"); }
    fdb5::IndexLocation* clone() const override { return new IndexLocation; }

private:
    void print(std::ostream& out) const override { out << type_name; }
    void encode(eckit::Stream&) const override { refuse(); }
};

class Index final : public fdb5::IndexBase {
public:
    explicit Index(const fdb5::Key& key) : IndexBase(key, type_name)
    {
        for (const auto& keyword : served->plan.element) {
            const auto found = served->plan.varying.find(keyword);
            if (found == served->plan.varying.end()) continue;
            axes_.insert(keyword, texts(found->second));
        }
        axes_.sort();
    }

private:
    const fdb5::IndexLocation& location() const override { return location_; }
    std::vector<eckit::URI> dataURIs() const override { return {}; }
    bool dirty() const override { return false; }
    void open() override {}
    void reopen() override {}
    void close() override {}
    void flush() override {}
    void flock() const override {}
    void funlock() const override {}
    void visit(fdb5::IndexLocationVisitor& visitor) const override { visitor(location_); }
    bool get(const fdb5::Key&, const fdb5::Key&, fdb5::Field&) const override { refuse(); }
    void add(const fdb5::Key&, const fdb5::Field&) override { refuse(); }
    void dump(std::ostream&, const char*, bool, bool) const override { refuse(); }
    fdb5::IndexStats statistics() const override { refuse(); }
    void print(std::ostream& out) const override { out << type_name; }

    void entries(fdb5::EntryVisitor& visitor, fdb5::EntryVisitor::IndexScope& scope) const override
    {
        auto* list = dynamic_cast<fdb5::api::local::ListVisitor*>(&visitor);
        if (list == nullptr) refuse();
        each(*list, scope, {served->first, 0, 0, 0}, 0, fdb5::Key());
    }
    // All fields with the key's values of the index, and all values of what is in the element key.
    void each(fdb5::api::local::ListVisitor& list, fdb5::EntryVisitor::IndexScope& scope, Field field,
              std::size_t which, const fdb5::Key& so_far) const
    {
        const auto& element = served->plan.element;
        if (which == element.size()) {
            if (!find(key_, field)) refuse();
            list.visitDatum(scope, fdb5::Field(std::make_shared<Location>(field), 0), so_far);
            return;
        }
        const auto name = static_cast<std::size_t>(std::ranges::find(names, element[which]) - names);
        const auto& values = served->plan.varying.at(element[which]);
        const bool numbers = name == 0;
        const int begin = numbers ? served->first : 0;
        const int end = numbers ? served->first + served->processes : static_cast<int>(values.size());
        for (int at = begin; at < end; ++at) {
            member(field, name) = at;
            fdb5::Key key = so_far;
            key.push(element[which], values[static_cast<std::size_t>(at)].text);
            each(list, scope, field, which + 1, key);
        }
    }

    IndexLocation location_;
};

class CatalogueReader final : public RefusingCatalogue, public fdb5::CatalogueReader {
public:
    CatalogueReader(const fdb5::Key& key, const fdb5::Config& config)
        : RefusingCatalogue(type_name, key, config)
    {
    }
    CatalogueReader(const eckit::URI&, const fdb5::Config& config)
        : CatalogueReader(fdb5::Key(served->plan.dataset), config)
    {
    }

    bool retrieve(const fdb5::Key& key, fdb5::Field& field) const override
    {
        Field of{};
        if (!find(index_, of) || !find(key, of)) return false;
        field = fdb5::Field(std::make_shared<Location>(of), 0);
        return true;
    }
    std::vector<fdb5::Index> indexes(bool) const override
    {
        std::vector<fdb5::Index> all;
        combine(all, 0, fdb5::Key());
        return all;
    }
    fdb5::DbStats stats() const override { refuse(); }
    void flush(std::size_t) override {}

private:
    std::optional<fdb5::Axis> computeAxis(const std::string& keyword) const override
    {
        const auto found = served->plan.varying.find(keyword);
        if (found == served->plan.varying.end()) return std::nullopt;
        fdb5::Axis axis;
        for (const auto& value : texts(found->second))
            axis.insert(value);
        axis.sort();
        return axis;
    }
    // Every key of an index.
    static void combine(std::vector<fdb5::Index>& all, std::size_t which, const fdb5::Key& so_far)
    {
        const Plan& plan = served->plan;
        if (which == plan.collocation.size()) {
            all.emplace_back(new Index(so_far));
            return;
        }
        const std::string& keyword = plan.collocation[which];
        std::vector<std::string> values;
        if (const auto varying = plan.varying.find(keyword); varying != plan.varying.end()) {
            values = texts(varying->second);
            if (keyword == "number")
                values = {values.begin() + served->first, values.begin() + served->first + served->processes};
        } else {
            values.push_back(plan.constant.at(keyword));
        }
        for (const auto& value : values) {
            fdb5::Key key = so_far;
            key.push(keyword, value);
            combine(all, which + 1, key);
        }
    }
};

class Engine final : public OwnEngine {
public:
    Engine() : OwnEngine(type_name) {}
    std::vector<eckit::URI> visitableLocations(const fdb5::Key& key,
                                               const fdb5::Config& config) const override
    {
        return {location(key, config)};
    }
    std::vector<eckit::URI> visitableLocations(const metkit::mars::MarsRequest&,
                                               const fdb5::Config& config) const override
    {
        return {location({}, config)};
    }
};

const fdb5::CatalogueReaderBuilder<CatalogueReader> reader(type_name);
const fdb5::EngineBuilder<Engine> engine;

} // namespace

void serve(const Work& work)
{
    served = &work;
    copies.open(work.copies, work.plan.message.size());
    for (std::size_t which = 0; which < std::size(names); ++which) {
        const auto& values = work.plan.varying.at(names[which]);
        for (std::size_t at = 0; at < values.size(); ++at)
            positions[which][values[at].text] = static_cast<int>(at);
    }
}

} // namespace stepstore::bench

#include "blobs/numbers.h"

#include "base/record.h"
#include "stepstore/administration.h"

#include <algorithm>
#include <limits>

namespace stepstore::blobs {

namespace {

constexpr std::uint64_t numbers_at_once = 1024;
constexpr ArrayAttributes one_chunk{1, std::uint64_t{1} << 40};

} // namespace

std::vector<std::byte> RangeForm::encode(const NumberRange& mark)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    to.fixed(mark.first);
    to.fixed(mark.count);
    write_process(to, mark.process);
    return bytes;
}

std::optional<NumberRange> RangeForm::decode(Bytes bytes, const std::string& what)
{
    try {
        WireReader from(bytes, what);
        NumberRange range;
        range.first = from.fixed<std::uint64_t>();
        range.count = from.fixed<std::uint64_t>();
        range.process = read_process(from);
        return range;
    } catch (const Error&) {
        return NumberRange{0, std::numeric_limits<std::uint64_t>::max(), {}};
    }
}

// What a process has of a container's numbers.
struct Numbers::Own {
    std::mutex mutex; // of OwnState::blob_numbers: guards the rest
    std::optional<KeyValue> writers;
    std::uint64_t next = 0, end = 0;
    std::vector<std::uint64_t> ranges; // the first number of each
    std::size_t under_way = 0;
};

Numbers::Use::~Use()
{
    if (&*numbers_.own_ != &own_) return; // the parent's
    const std::lock_guard lock(own_.mutex);
    --own_.under_way;
}

Numbers::Numbers(Container& container, std::string where, bool takes_back, Names names)
    : container_(container), where_(std::move(where)),
      data_id_(container.object_id(0, data_hi, ObjectType::array_bytes, "S1")), takes_back_(takes_back),
      names_(std::move(names)), own_([] { return std::make_unique<Own>(); })
{
}

Numbers::~Numbers() = default;

KeyValue Numbers::open_register() const
{
    return container_.key_value(container_.object_id(0, writers_hi, ObjectType::key_value, "S1"));
}

std::unique_ptr<Numbers::Use> Numbers::take()
{
    Own& own = *own_;
    const std::lock_guard lock(own.mutex);
    if (own.next == own.end) take_range(own);
    auto use = std::make_unique<Use>(*this, own, own.next);
    ++own.next;
    ++own.under_way;
    return use;
}

void Numbers::take_range(Own& own)
{
    if (!own.writers) own.writers.emplace(open_register());
    auto all = marks(*own.writers);
    if (takes_back_ && own.ranges.empty() && !all.left(Unpublished<RangeForm>::is_of_the_dead).empty())
        take_back();
    const std::uint64_t first = container_.allocate_oids(numbers_at_once);
    all.put(first, {first, numbers_at_once, this_process()});
    own.ranges.push_back(first);
    own.next = first;
    own.end = first + numbers_at_once;
}

void Numbers::keep(std::uint64_t number)
{
    Own& own = *own_;
    const std::lock_guard lock(own.mutex);
    std::erase_if(own.ranges,
                  [&](std::uint64_t first) { return number >= first && number - first < numbers_at_once; });
}

void Numbers::leave() noexcept
{
    try {
        Own& own = *own_;
        const std::lock_guard lock(own.mutex);
        if (own.under_way > 0 || !own.writers) return;
        for (const std::uint64_t first : std::exchange(own.ranges, {}))
            marks(*own.writers).remove(first);
        own.next = own.end = 0;
    } catch (...) { // the pool is gone or full: the next writer takes back
    }
}

Array Numbers::object(std::uint64_t number, Access access) const
{
    return container_.open_array({data_id_.hi, number}, one_chunk, access);
}

void Numbers::destroy(std::uint64_t number) const noexcept
{
    try {
        object(number).destroy();
    } catch (...) {
    }
}

std::size_t Numbers::take_back() const
{
    KeyValue writers = open_register();
    auto all = marks(writers);
    const auto dead = all.left(Unpublished<RangeForm>::is_of_the_dead);
    const std::vector<ObjectInfo> objects = list_objects(container_, false);
    const auto living =
        all.left([](const NumberRange& range) { return life_of(range.process) != Life::dead; });
    const auto named = names_();
    std::size_t destroyed = 0;
    for (const ObjectInfo& one : objects) {
        const std::uint64_t number = one.id.lo;
        const auto has = [&](const auto& range) { return range.mark.has(number); };
        if (one.id.hi != data_id_.hi || named.contains(number)) continue;
        if (std::ranges::any_of(living, has) && std::ranges::none_of(dead, has)) continue;
        object(number).destroy();
        ++destroyed;
    }
    for (const auto& one : dead)
        all.remove(one);
    return destroyed;
}

} // namespace stepstore::blobs

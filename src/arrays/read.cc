// Reading: rank 0 reads the header, all ranks read their boxes, rank 0 looks at the header again (head.h).
#include "arrays/cover.h"
#include "arrays/session.h"

#include <daos_errno.h>

#include <cmath>

namespace stepstore::arrays {

namespace {

constexpr int most_attempts = 100; // while an array is replaced again and again

struct ReadWish : Elements {
    std::optional<Extents> shape;            // that is expected
    std::optional<Box> box;                  // nullopt: the whole
    std::uint64_t known = 0;                 // fingerprint of the header that this rank has
    std::optional<std::uint64_t> generation; // that is expected
};

ReadWish wish_of(const ReadCall& call, Order order)
{
    check_name(call.name, "array");
    check_type(call.type);
    ReadWish wish;
    wish.type = call.type;
    wish.dimensions = checked_dimensions(call.dimensions);
    const Naming naming{order, wish.dimensions};
    if (!call.shape.empty()) wish.shape = to_extents(call.shape, naming, "the extent", 0);
    wish.generation = call.generation;
    if (!call.start.empty() || !call.count.empty()) {
        wish.box.emplace();
        wish.box->start = to_extents(call.start, naming, "the start", 0);
        wish.box->count = to_extents(call.count, naming, "the count", 0);
    }
    return wish;
}

std::vector<std::byte> encode(const ReadWish& wish)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    write_elements(to, wish);
    to.fixed(wish.known);
    to.fixed(static_cast<std::uint8_t>(wish.generation.has_value()));
    to.fixed(wish.generation.value_or(0));
    to.fixed(static_cast<std::uint8_t>(wish.shape.has_value()));
    if (wish.shape) write_extents(to, *wish.shape, wish.dimensions);
    to.fixed(static_cast<std::uint8_t>(wish.box.has_value()));
    if (wish.box) write_extents(to, wish.box->start, wish.dimensions);
    if (wish.box) write_extents(to, wish.box->count, wish.dimensions);
    return bytes;
}

ReadWish decode_read_wish(Bytes bytes)
{
    WireReader from(bytes, "a rank's arguments");
    ReadWish wish;
    static_cast<Elements&>(wish) = read_elements(from);
    wish.known = from.fixed<std::uint64_t>();
    const bool expected = from.fixed<std::uint8_t>() != 0;
    const auto generation = from.fixed<std::uint64_t>();
    if (expected) wish.generation = generation;
    if (from.fixed<std::uint8_t>() != 0) wish.shape = read_extents(from, wish.dimensions);
    if (from.fixed<std::uint8_t>() != 0) {
        wish.box.emplace();
        wish.box->start = read_extents(from, wish.dimensions);
        wish.box->count = read_extents(from, wish.dimensions);
    }
    return wish;
}

void require_same_reads(const ReadWish& first, const ReadWish& other, std::size_t rank, Order order)
{
    const Naming naming{order, first.dimensions};
    require_same_elements(first, other, rank);
    const auto shape = [&](const ReadWish& one) { return one.shape ? naming.extents(*one.shape) : "none"; };
    if (first.shape != other.shape) ranks_differ("shape", shape(first), rank, shape(other));
    const auto generation = [](const ReadWish& one) {
        return one.generation ? std::to_string(*one.generation) : "none";
    };
    if (first.generation != other.generation)
        ranks_differ("generation", generation(first), rank, generation(other));
}

void require_fitting(const Header& header, const ReadWish& wish, const std::string& where, Order order)
{
    const auto refuse = [&](const std::string& is, const std::string& asked) {
        throw Error(-DER_MISMATCH,
                    where + " has " + is + ", and was to be read with " + asked + ": ask for what is there");
    };
    if (header.type != wish.type)
        refuse("elements of " + to_text(header.type), "elements of " + to_text(wish.type));
    if (header.dimensions != wish.dimensions)
        refuse(std::to_string(header.dimensions) + " dimensions", std::to_string(wish.dimensions));
    const Naming naming{order, header.dimensions};
    for (unsigned d = 0; wish.shape && d < header.dimensions; ++d)
        if (header.shape[d] != (*wish.shape)[d])
            refuse("the shape " + naming.extents(header.shape),
                   "the shape " + naming.extents(*wish.shape) + ", which differs in " + naming.dimension(d));
}

// The header with its tables, as rank 0 sends them. Empty: all ranks have them.
struct Found {
    std::vector<std::byte> header;
    std::vector<std::vector<std::byte>> tables;
};

std::vector<std::byte> encode(const Found& found)
{
    std::vector<std::byte> bytes;
    WireWriter to(bytes);
    if (found.header.empty()) return bytes;
    to.varint(found.header.size());
    to.bytes(found.header);
    for (const std::vector<std::byte>& one : found.tables) {
        to.varint(one.size());
        to.bytes(one);
    }
    return bytes;
}

KnownArray decode_found(Bytes bytes, const Head& head)
{
    WireReader from(bytes, "rank 0's answer");
    KnownArray array;
    const Bytes header = from.bytes(from.varint());
    array.fingerprint = checksum(header);
    array.header = head.decode(header);
    while (!from.at_end())
        decode_table(from.bytes(from.varint()), array.header, "a table of blocks of " + head.where(),
                     array.blocks);
    return array;
}

class ReadRequest final : public Request::State {
public:
    ReadRequest(std::shared_ptr<Store::Session> session, ReadCall call, bool in_background)
        : session_(std::move(session)), arguments_(std::move(call)), in_background_(in_background),
          call_("read_array " + shown(arguments_.name))
    {
        begin();
        number_ = ++session_->requests;
        if (in_background_) session_->under_way.push_back(this);
    }
    ~ReadRequest() override { give_up(); }

    void wait() override
    {
        if (given_up_) was_given_up(call_);
        if (ended_) return;
        for (int attempt = 1; !finish(); ++attempt) {
            if (attempt == most_attempts)
                throw Error(-DER_BUSY, call_ + ": the array was replaced " + std::to_string(attempt) +
                                           " times while it was read: read it when its writer pauses");
            in_background_ = false;
            begin();
        }
    }
    bool ready() override { return work_->ready(); }
    void give_up() noexcept override
    {
        given_up_ = !ended_;
        work_->settle();
        end();
    }
    const std::string& call() const override { return call_; }
    const std::string& writes() const override
    {
        static const std::string none;
        return none;
    }

private:
    void end()
    {
        ended_ = true;
        std::erase(session_->under_way, this);
    }

    void begin()
    {
        Group& group = session_->open_group(call_);
        ReadWish wish;
        std::exception_ptr fault = arguments_.fault;
        if (!fault) {
            try {
                wish = wish_of(arguments_, session_->options.order);
                look_at_memory(wish);
                if (const auto known = session_->known.find(arguments_.name); known != session_->known.end())
                    wish.known = known->second->fingerprint;
            } catch (...) {
                fault = std::current_exception();
            }
        }
        const std::vector<std::byte> found =
            group.meet(call_, fault ? std::vector<std::byte>() : encode(wish), fault,
                       [&](std::span<const Bytes> all) { return encode(find(all)); });
        const std::shared_ptr<Head> head = session_->head(arguments_.name);
        if (!found.empty()) {
            if (session_->known.size() >= 64) session_->known.clear();
            session_->known[arguments_.name] = std::make_shared<const KnownArray>(decode_found(found, *head));
        }
        array_ = session_->known.at(arguments_.name);
        start(wish);
    }

    // What can be said of the memory before the shape is known.
    void look_at_memory(const ReadWish& wish) const
    {
        if (arguments_.data == nullptr && wish.box && !is_empty(*wish.box, wish.dimensions))
            throw Error(-DER_INVAL, "the address of the memory is null: give memory for the data");
        const Naming naming{session_->options.order, wish.dimensions};
        if (wish.box)
            to_memory(arguments_.data, arguments_.strides, *wish.box, naming, size_of(wish.type));
        else if (!arguments_.strides.empty())
            to_extents(arguments_.strides, naming, "the stride", 1);
    }

    // On rank 0.
    Found find(std::span<const Bytes> all) const
    {
        const Order order = session_->options.order;
        std::vector<ReadWish> wishes;
        for (const Bytes one : all) {
            wishes.push_back(decode_read_wish(one));
            require_same_reads(wishes.front(), wishes.back(), wishes.size() - 1, order);
        }
        const Head& head = *session_->head(arguments_.name);
        // A table may go while it is read, when appends are merged.
        for (int attempt = 0; attempt < most_attempts; ++attempt) {
            Found found;
            auto bytes = head.header_bytes();
            if (bytes) found.header = std::move(*bytes);
            const std::optional<Header> header =
                found.header.empty() ? std::nullopt : std::optional(head.decode(found.header));
            if (!header || header->removed)
                throw Error(-DER_NONEXIST,
                            "there is no " + head.where() + ": list the arrays to see which there are");
            if (wishes.front().generation.value_or(header->generation) != header->generation)
                throw Error(-DER_STALE, head.where() + " was replaced: inquire it again, and read it then");
            require_fitting(*header, wishes.front(), head.where(), order);
            const Naming naming{order, header->dimensions};
            const std::uint64_t fingerprint = checksum(found.header);
            bool known = true;
            for (std::size_t rank = 0; rank < wishes.size(); ++rank) {
                if (wishes[rank].box) require_within(naming, header->shape, *wishes[rank].box, rank);
                known = known && wishes[rank].known == fingerprint;
            }
            if (known) return {};
            auto tables = head.tables(*header);
            if (!tables) continue;
            found.tables = std::move(*tables);
            return found;
        }
        throw Error(-DER_DATA_LOSS, "a table of blocks of " + head.where() +
                                        " is missing; `stepstore pool check` says what can be saved");
    }

    void start(const ReadWish& wish)
    {
        work_ = std::make_unique<OwnWork>();
        const Header& header = array_->header;
        box_ = wish.box.value_or(Box{.start = {}, .count = header.shape});
        if (is_empty(box_, header.dimensions)) return;
        work_->start(
            [this] {
                const Header& is = array_->header;
                const Naming naming{session_->options.order, is.dimensions};
                if (arguments_.data == nullptr)
                    throw Error(-DER_INVAL, "the address of the memory is null: give memory for the data");
                const Memory memory =
                    to_memory(arguments_.data, arguments_.strides, box_, naming, size_of(is.type));
                read_blocks(naming, memory);
            },
            in_background_);
    }

    void read_blocks(const Naming& naming, const Memory& memory) const
    {
        const Header& is = array_->header;
        std::shared_ptr<const Array> object; // requests hold it too
        std::uint64_t number = 0;
        Requests requests(*session_->queue);
        for (const StoredBlock& block : array_->blocks) {
            if (!intersection(block.box, box_, is.dimensions)) continue;
            if (!object || number != block.object) {
                object = std::make_shared<const Array>(session_->data_object(block.object, is.layout));
                number = block.object;
            }
            read_block(requests, object, block, is.layout, session_->transfer_options(), is.dimensions, box_,
                       size_of(is.type), memory,
                       "block " + naming.box(block.box) + " of " + session_->array_name(is.name));
        }
        requests.finish();
    }

    // False: the array was replaced meanwhile.
    bool finish()
    {
        work_->settle();
        end();
        const std::string call =
            in_background_ ? "wait of request " + std::to_string(number_) + ", " + call_ : call_;
        const double allowance = in_background_ ? 10 * work_->seconds() : HUGE_VAL;
        const std::vector<std::byte> verdict = session_->open_group(call).meet(
            call, status_of(work_->failure()), nullptr,
            [&](std::span<const Bytes> all) {
                if (is_replaced()) return std::vector<std::byte>(1);
                require_success(all);
                return std::vector<std::byte>();
            },
            allowance);
        return verdict.empty();
    }

    bool is_replaced() const
    {
        if (session_->options.snapshot != 0) return false;
        const std::optional<Header> now = session_->head(arguments_.name)->header();
        return !now || now->generation != array_->header.generation;
    }

    std::shared_ptr<Store::Session> session_;
    ReadCall arguments_;
    bool in_background_;
    std::string call_;
    std::uint64_t number_ = 0;
    std::shared_ptr<const KnownArray> array_;
    Box box_;
    bool ended_ = false;
    bool given_up_ = false;
    std::unique_ptr<OwnWork> work_ = std::make_unique<OwnWork>(); // the last: it ends first
};

} // namespace

void Store::read(const ReadCall& call)
{
    ReadRequest(session_.shared(), call, false).wait();
}

Request Store::begin_read(const ReadCall& call)
{
    Request request;
    request.state_ = std::make_shared<ReadRequest>(session_.shared(), call, true);
    return request;
}

} // namespace stepstore::arrays

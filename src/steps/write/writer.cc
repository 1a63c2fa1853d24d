#include "steps/write/writer.h"

#include "steps/write/writer_impl.h"

namespace stepstore::steps {

Writer::Writer(const std::string& location, const WriterOptions& options,
               std::shared_ptr<Communicator> communicator)
    : impl_(std::make_shared<Impl>(location, options, std::move(communicator)))
{
}

Writer::~Writer() = default;
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;

void Writer::agree(std::vector<Claim> claims)
{
    if (impl_->agreement) impl_->agreement->agree(*impl_->communicator, impl_->steps, std::move(claims));
}

std::uint64_t Writer::begin_step()
{
    return impl_->begin_step();
}

bool Writer::in_step() const
{
    return impl_->in_step;
}

VariableId Writer::define(std::string_view name, Type type, ShapeKind kind,
                          std::shared_ptr<const Structure> structure)
{
    impl_->require_open();
    return impl_->encoder->define(name, type, kind, std::move(structure));
}

void Writer::compress(VariableId variable, const Compression& compression)
{
    impl_->require_open();
    const std::string name = "the compression of variable '" + impl_->encoder->variable(variable).name + "'";
    check_compression(name, compression);
    impl_->stored_as(variable).compression = compression;
    impl_->stores_as_is = false;
}

void Writer::operate(VariableId variable, std::shared_ptr<BlockOperator> through)
{
    impl_->require_open();
    const Variable& of = impl_->encoder->variable(variable);
    if (through != nullptr && of.type == Type::structure)
        throw Error(-DER_NOTSUPPORTED,
                    "variable '" + of.name + "' is a " + described(of) +
                        ", and operators know numbers only: remove the operation; lossless compression "
                        "(parameter Compression) works on structs");
    if (through == nullptr && variable >= impl_->stored_as_.size()) return;
    if (through != nullptr) impl_->stores_as_is = false;
    impl_->stored_as(variable).through = std::move(through);
}

void Writer::reshapable(VariableId variable)
{
    impl_->encoder->variable(variable); // there is one
    impl_->stored_as(variable).reshapable = true;
}

void Writer::put(VariableId variable, const BlockGeometry& block, const void* data, Mode mode)
{
    impl_->put(variable, block, data, mode);
}

void Writer::put_value(VariableId variable, const void* value)
{
    impl_->put_value(variable, value);
}

void Writer::put_string(VariableId variable, std::string_view value)
{
    impl_->put_other_value(variable, nullptr, value, true);
}

std::span<std::byte> Writer::put_span(VariableId variable, DimsView shape, DimsView start, DimsView count,
                                      const MinMax* extremes)
{
    return impl_->put_span(variable, shape, start, count, extremes);
}

void Writer::fetch_into(const PieceMemory* memory)
{
    impl_->piece_memory = memory;
}

std::span<std::byte> Writer::put_from(VariableId variable, const BlockGeometry& block, const MinMax* extremes,
                                      Fetch fetch, bool stays)
{
    if (stays) return impl_->put_from_staying(variable, block, extremes, fetch);
    impl_->put_from(variable, block, extremes, fetch);
    return {};
}

void Writer::attribute(const Attribute& attribute)
{
    impl_->require_open();
    if (attribute.name.empty()) throw Error(-DER_INVAL, "the name of an attribute is empty: give one");
    impl_->encoder->attribute(impl_->steps, attribute);
}

void Writer::attribute(std::string_view name, Type type, const void* data, std::uint64_t count, bool array)
{
    if (size_of(type) == 0)
        throw Error(-DER_INVAL, "attribute '" + std::string(name) +
                                    "': its type has no fixed size: give strings as std::string");
    if (count > 0 && data == nullptr)
        throw Error(-DER_INVAL, "attribute '" + std::string(name) + "': the data pointer is null");
    const auto* bytes = static_cast<const std::byte*>(data);
    attribute(
        {std::string(name), type, array || count != 1, count, {bytes, bytes + count * size_of(type)}, {}});
}

void Writer::attribute(std::string_view name, std::span<const std::string> values, bool array)
{
    attribute({std::string(name),
               Type::string,
               array || values.size() != 1,
               values.size(),
               {},
               {values.begin(), values.end()}});
}

void Writer::perform_puts()
{
    impl_->require_step("perform_puts");
    impl_->perform_puts(false);
}

void Writer::write_puts()
{
    impl_->require_step("write_puts");
    impl_->write_puts(false);
}

void Writer::end_part()
{
    impl_->end_part();
}

void Writer::end_step()
{
    impl_->end_step(nullptr);
}

void Writer::end_step(FunctionRef<DimsView(VariableId)> shape_now)
{
    impl_->end_step(&shape_now);
}

void Writer::close()
{
    impl_->close();
}

std::uint64_t Writer::steps() const
{
    return impl_->steps;
}

const Location& Writer::location() const
{
    return impl_->opened.location;
}

std::uint64_t Writer::metadata_bytes() const
{
    return impl_->profile.metadata_bytes;
}

std::string Writer::profile_json() const
{
    return impl_->profile.json(impl_->communicator->rank());
}

const Costs& Writer::costs() const
{
    return impl_->profile;
}

} // namespace stepstore::steps

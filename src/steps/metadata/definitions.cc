#include "steps/metadata/definitions.h"

#include "steps/metadata/rank_metadata.h"

#include <algorithm>

namespace stepstore::steps {

namespace {

constexpr std::uint8_t variable_record = 1;
constexpr std::uint8_t attribute_record = 2;

Type checked_type(std::uint8_t number, const WireReader& from)
{
    if (number < 1 || name_of(static_cast<Type>(number)).empty()) from.fail("names an unknown type");
    return static_cast<Type>(number);
}

Structure read_structure(WireReader& from)
{
    Structure structure;
    structure.name = from.text();
    structure.size = from.varint();
    constexpr std::size_t least = 4; // bytes of a field
    structure.fields.resize(from.counted(least));
    for (Structure::Field& field : structure.fields) {
        field.name = from.text();
        field.offset = from.varint();
        field.type = checked_type(from.fixed<std::uint8_t>(), from);
        field.count = from.varint();
    }
    if (const std::string fault = fault_of(structure); !fault.empty())
        from.fail("describes a struct that cannot be: " + fault);
    return structure;
}

void read_attribute_value(WireReader& from, Attribute& attribute)
{
    attribute.count = from.counted(attribute.type == Type::string ? 1 : size_of(attribute.type));
    if (attribute.type == Type::string) {
        attribute.strings.reserve(attribute.count);
        for (std::uint64_t i = 0; i < attribute.count; ++i)
            attribute.strings.emplace_back(from.text());
    } else {
        const Bytes data = from.bytes(attribute.count * size_of(attribute.type));
        attribute.data.assign(data.begin(), data.end());
    }
}

} // namespace

void write_variable(WireWriter& to, const Variable& variable)
{
    to.text(variable.name);
    to.fixed(static_cast<std::uint8_t>(variable.type));
    to.fixed(static_cast<std::uint8_t>(variable.kind));
    if (variable.structure == nullptr) return;
    to.text(variable.structure->name);
    to.varint(variable.structure->size);
    to.varint(variable.structure->fields.size());
    for (const Structure::Field& field : variable.structure->fields) {
        to.text(field.name);
        to.varint(field.offset);
        to.fixed(static_cast<std::uint8_t>(field.type));
        to.varint(field.count);
    }
}

Variable read_variable(WireReader& from)
{
    Variable variable;
    variable.name = from.text();
    variable.type = checked_type(from.fixed<std::uint8_t>(), from);
    const auto kind = from.fixed<std::uint8_t>();
    if (kind < 1 || kind > 5) from.fail("names an unknown shape kind");
    variable.kind = static_cast<ShapeKind>(kind);
    if (variable.type == Type::string && !is_value(variable.kind)) from.fail("holds an array of strings");
    if (variable.type == Type::structure)
        variable.structure = std::make_shared<const Structure>(read_structure(from));
    return variable;
}

DefinitionLog::DefinitionLog() : ends_{0}, variables_{0}, steps_{no_step}
{
}

void DefinitionLog::variable(const Variable& variable)
{
    WireWriter to(records_);
    to.fixed(variable_record);
    write_variable(to, variable);
    ++defined_;
}

void DefinitionLog::attribute(std::uint64_t step, const Attribute& attribute)
{
    const std::size_t before = records_.size();
    WireWriter to(records_);
    to.fixed(attribute_record);
    to.varint(step);
    to.text(attribute.name);
    const std::size_t at = records_.size();
    to.fixed(static_cast<std::uint8_t>(attribute.type));
    to.fixed(static_cast<std::uint8_t>(attribute.array ? 1 : 0));
    to.varint(attribute.count);
    if (attribute.type == Type::string)
        for (const std::string& text : attribute.strings)
            to.text(text);
    else
        to.bytes(attribute.data);
    const Bytes now = Bytes(records_).subspan(at);
    Value& known = attributes_[attribute.name];
    if (std::ranges::equal(now, Bytes(records_).subspan(known.at, known.length)))
        records_.resize(before);
    else
        known = {at, now.size()};
}

std::uint64_t DefinitionLog::last_step() const
{
    return steps_.back();
}

std::size_t DefinitionLog::write_section(std::uint64_t step, std::vector<std::byte>& to)
{
    if (records_.size() == ends_.back()) return 0;
    ends_.push_back(records_.size());
    variables_.push_back(defined_);
    steps_.push_back(step);
    const std::uint32_t batch = batches();
    const std::uint32_t after = batch & (batch - 1); // without its lowest bit
    const std::size_t before = to.size();
    WireWriter wire(to);
    wire.fixed(batch);
    wire.fixed(after);
    wire.fixed(steps_[after]);
    wire.fixed(variables_[after]);
    wire.bytes(Bytes(records_).subspan(ends_[after]));
    return to.size() - before;
}

DefinitionSection parse_definitions(Bytes bytes, std::string_view what)
{
    WireReader from(bytes, what);
    DefinitionSection section;
    section.batch = from.fixed<std::uint32_t>();
    section.after = from.fixed<std::uint32_t>();
    section.previous_step = from.fixed<std::uint64_t>();
    section.first_variable = from.fixed<std::uint32_t>();
    if (section.batch == 0 || section.after != (section.batch & (section.batch - 1)))
        from.fail("has wrong numbers of batches");
    section.records = from.bytes(from.left());
    return section;
}

void each_definition(const DefinitionSection& section, std::string_view what,
                     FunctionRef<void(std::uint32_t, Variable&&)> on_variable,
                     FunctionRef<void(std::uint64_t, Attribute&&)> on_attribute)
{
    WireReader from(section.records, what);
    std::uint32_t number = section.first_variable;
    while (!from.at_end()) {
        const auto record = from.fixed<std::uint8_t>();
        if (record == variable_record) {
            on_variable(number++, read_variable(from));
        } else if (record == attribute_record) {
            const std::uint64_t step = from.varint();
            Attribute attribute;
            attribute.name = from.text();
            attribute.type = checked_type(from.fixed<std::uint8_t>(), from);
            if (attribute.type == Type::structure) from.fail("holds an attribute that is a struct");
            attribute.array = from.fixed<std::uint8_t>() != 0;
            read_attribute_value(from, attribute);
            on_attribute(step, std::move(attribute));
        } else {
            from.fail("holds a record of unknown kind");
        }
    }
}

} // namespace stepstore::steps

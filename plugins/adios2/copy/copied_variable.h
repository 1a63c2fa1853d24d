// A variable of the current step of a file that is copied, or of the copy: its blocks and their bytes.
// Threads: that of the file's engine. Errors: -DER_NOSYS, and what ADIOS2 throws.
#pragma once

#include <adios2.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stepstore::adios {

// The memory of one block: bytes, or a text.
struct Memory {
    std::vector<std::byte> bytes;
    std::string text;
    bool is_text = false;
    void* data() { return is_text ? static_cast<void*>(&text) : bytes.data(); }
    std::uint64_t size() const { return is_text ? text.size() : bytes.size(); }
    friend bool operator==(const Memory&, const Memory&) = default;
};

// The names of all variables of the current step. ADIOS2's AvailableVariables() leaves out those of structs.
std::vector<std::string> variables_of(adios2::IO& io);

struct CopiedVariable {
    std::string name;
    adios2::DataType type;
    adios2::VariableNT variable;
    adios2::ShapeID kind;
    std::vector<adios2::VariableNT::Info> blocks;
    bool by_box = false; // its blocks are got as boxes of the whole

    // Throws for one that ADIOS2 shows and cannot read.
    CopiedVariable(adios2::IO& io, adios2::Engine& engine, const std::string& of);

    // BP files show local values as global arrays, and joined arrays too.
    bool is_value() const { return kind == adios2::ShapeID::GlobalValue; }
    // A string that each writer has its own of. There is one writer: ADIOS2 writes no arrays of strings.
    bool is_own_string() const { return type == adios2::DataType::String && !is_value(); }
    bool is_struct() const { return type == adios2::DataType::Struct; }
    Memory get(adios2::Engine& engine, std::size_t block);
    // Of structs: name, size and fields of its definition.
    std::string structure() const;

private:
    std::size_t element_size();
};

} // namespace stepstore::adios

// Definitions are variables (name, type, kind) and attributes. A rank stores them once, and every later step
// refers to them.
//
// A rank's definitions are a log in batches. A step with new ones closes batch number b (from 1). Its own
// metadata holds the batch, so a reader that follows needs no further request. A reader that starts later
// must find the batches before. For this the section of batch b holds the batches (b - lowbit(b), b]. It
// names the step whose metadata holds batch b - lowbit(b) (a Fenwick tree). So any reader reaches all of n
// batches in at most log2(n) steps' metadata. Nothing is stored more than log2(n) times.
//
// Threads: a DefinitionLog is for one; reading is pure. Errors: -DER_DF_INVAL for damage.
#pragma once

#include "base/function_ref.h"
#include "base/wire.h"
#include "steps/types.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace stepstore::steps {

// A variable's name and definition, wherever they are stored or sent.
void write_variable(WireWriter& to, const Variable& variable);
Variable read_variable(WireReader& from); // -DER_DF_INVAL: not one that can be

// The writer's side: the log of one rank.
class DefinitionLog {
public:
    DefinitionLog();
    void variable(const Variable& variable);
    void attribute(std::uint64_t step, const Attribute& attribute); // as it is already: nothing happens

    // Closes the open batch, if it holds anything, for the metadata of `step`, and appends its section.
    // Returns the bytes appended.
    std::size_t write_section(std::uint64_t step, std::vector<std::byte>& to);
    std::uint32_t batches() const { return static_cast<std::uint32_t>(ends_.size() - 1); }
    std::uint64_t last_step() const; // no_step when there is no batch

private:
    std::vector<std::byte> records_;
    std::vector<std::size_t> ends_;        // of batch i in records_; [0] is 0
    std::vector<std::uint32_t> variables_; // defined up to the end of batch i
    std::vector<std::uint64_t> steps_;     // of batch i; [0] is no_step
    std::uint32_t defined_ = 0;
    struct Value { // type and value of an attribute, in records_
        std::size_t at = 0;
        std::size_t length = 0;
    };
    std::unordered_map<std::string, Value> attributes_; // as they are now
};

struct DefinitionSection {
    std::uint32_t batch = 0;          // the last one in it
    std::uint32_t after = 0;          // the last one before it
    std::uint64_t previous_step = 0;  // whose metadata holds `after`; no_step when after is 0
    std::uint32_t first_variable = 0; // the writer's number of the first variable in it
    Bytes records;
};

// what: for messages. Throws -DER_DF_INVAL for damage.
DefinitionSection parse_definitions(Bytes section, std::string_view what);
void each_definition(const DefinitionSection& section, std::string_view what,
                     FunctionRef<void(std::uint32_t, Variable&&)> on_variable,
                     FunctionRef<void(std::uint64_t, Attribute&&)> on_attribute);

} // namespace stepstore::steps

// Numbers of objects that a process has taken and not published yet. They are taken back after its death.
//
// An object is written first, and then one update names it: that publishes it. A process that dies in between
// leaves an object that nothing names. So each process leaves a mark, which says whose numbers these are:
//
// 1. The writer takes fresh numbers and puts the mark, before it uses the first of them. Numbers are never
//    used twice.
// 2. It writes the objects, and publishes them in one update.
// 3. It removes the mark: after the update, or after it destroyed what it does not publish.
//
// Taking back: (a) the marks are read, and those are chosen whose process is dead. (b) What names objects is
// read. (c) Objects under the chosen marks that are not named are destroyed. (d) Then the marks are removed.
// - No object is destroyed that is named, or will be. Its writer was dead before (b), and publishes nothing
//   more. What it has published is seen at (b), unless it was replaced by then. In that case it is free.
// - A process that dies as it takes back leaves the marks, since (d) comes last. To destroy twice does no
//   harm.
// - Several processes may take back at once, and others may write meanwhile: their marks are not chosen.
//
// In doubt (in_doubt.h): an update of step 2 that got no answer may be carried out later. Then the writer
// destroys nothing, and leaves the mark. Its process is dead before (b), so its calls are over by then.
// Fork: a child takes numbers and marks of its own. Its parent's marks name the parent.
// Other machines: a process that cannot be seen counts as alive, unless the user of this header says more.
// A mark that is damaged says nothing. It stays, and its objects with it.
//
// Threads: they may share an Unpublished. Errors: those of the store and of the marks' form.
#pragma once

#include "base/process.h"
#include "stepstore/client.h"

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stepstore {

// How one kind of data stores its marks.
template <class Form>
concept MarkForm = requires(const typename Form::Mark& mark, Bytes bytes, const std::string& what) {
    { Form::encode(mark) } -> std::convertible_to<std::vector<std::byte>>;
    // nullopt: it is damaged, and is left alone. Throws: who reads the marks is told.
    { Form::decode(bytes, what) } -> std::same_as<std::optional<typename Form::Mark>>;
    { Form::process(mark) } -> std::convertible_to<const ProcessIdentity&>;
};

// The marks in a key-value object: PREFIX and the first number, in decimal digits, is the key of each. Has no
// state of its own; threads may share it.
template <MarkForm Form>
class Unpublished {
public:
    using Mark = typename Form::Mark;
    struct Stored {
        std::string key; // in the object
        Mark mark;
    };

    // object: outlives this. what: names the marks in messages, as in "a writer of dataset D".
    Unpublished(KeyValue& object, std::string_view prefix, std::string what)
        : object_(object), prefix_(prefix), what_(std::move(what))
    {
    }

    // Step 1, with `first` just allocated.
    void put(std::uint64_t first, const Mark& mark) { object_.put(key(first), Form::encode(mark)); }
    // Step 3.
    void remove(std::uint64_t first) { object_.remove(key(first)); }

    // Step (a), before what names objects is read. is_over: whether a mark's process publishes nothing more.
    template <class IsOver>
    std::vector<Stored> left(IsOver is_over) const
    {
        std::vector<Stored> found;
        for (std::string& key : object_.list_below(prefix_)) {
            const auto bytes = object_.get_nonempty(key);
            if (!bytes) continue; // removed meanwhile
            auto mark = Form::decode(*bytes, what_ + " (" + key + ")");
            if (mark && is_over(std::as_const(*mark))) found.push_back({std::move(key), std::move(*mark)});
        }
        return found;
    }
    std::vector<Stored> all() const
    {
        return left([](const Mark&) { return true; });
    }
    static bool is_of_the_dead(const Mark& mark) { return life_of(Form::process(mark)) == Life::dead; }

    // Step (d).
    void remove(const Stored& left) { object_.remove(left.key); }

    // (a) to (d). read_names() gives what is named then; destroy(mark, names) destroys the rest. Returns how
    // many marks were removed. If none is over, nothing more is read.
    template <class IsOver, class ReadNames, class Destroy>
    std::size_t take_back(IsOver is_over, ReadNames read_names, Destroy destroy)
    {
        const std::vector<Stored> dead = left(is_over);
        if (dead.empty()) return 0;
        const auto names = read_names();
        for (const Stored& one : dead) {
            destroy(one.mark, names);
            remove(one);
        }
        return dead.size();
    }

private:
    std::string key(std::uint64_t first) const { return prefix_ + std::to_string(first); }

    KeyValue& object_;
    std::string prefix_;
    std::string what_;
};

} // namespace stepstore

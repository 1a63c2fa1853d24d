// A log that several processes read and append to, in a key-value object: entry N lies under the key
// PREFIX N SUFFIX. Numbers have no gaps, so the first one that is missing is the end.
//
// 1. To append is to put an entry at a number on the condition that nothing is there. Of several processes
//    that try the same number one succeeds. The others read what it put, and try the next one.
// 2. That put makes the entry visible, whole. There is nothing else to do, so a process that dies before or
//    after it leaves a log that the others go on with.
// Entries are never empty: so a missing one is found without an error (KeyValue::get_nonempty).
//
// Threads: a NumberedLog is for one at a time. Errors: those of KeyValue.
#pragma once

#include "stepstore/client.h"

#include <daos_errno.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stepstore {

class NumberedLog {
public:
    NumberedLog(KeyValue object, std::string prefix, std::string suffix = {})
        : object_(std::move(object)), prefix_(std::move(prefix)), suffix_(std::move(suffix))
    {
    }

    std::string key(std::uint64_t number) const { return prefix_ + std::to_string(number) + suffix_; }
    std::optional<std::vector<std::byte>> at(std::uint64_t number) const
    {
        return object_.get_nonempty(key(number));
    }
    // False: there is an entry already.
    bool put(std::uint64_t number, Bytes entry)
    {
        try {
            object_.put(key(number), entry, Condition::must_not_exist);
            return true;
        } catch (const Error& error) {
            if (error.code() != -DER_EXIST) throw;
            return false;
        }
    }

    // The position of this reader: how far it has read.
    std::uint64_t next() const { return next_; }
    // The entry at the position, and moves on; nullopt: the end, for now.
    std::optional<std::vector<std::byte>> read_next()
    {
        auto entry = at(next_);
        if (entry) ++next_;
        return entry;
    }
    // At the position, and moves on. False: another process was faster; read_next() gives what it put.
    bool append(Bytes entry)
    {
        if (!put(next_, entry)) return false;
        ++next_;
        return true;
    }

    KeyValue& object() { return object_; }
    const KeyValue& object() const { return object_; }

private:
    KeyValue object_;
    std::string prefix_, suffix_;
    std::uint64_t next_ = 0;
};

} // namespace stepstore

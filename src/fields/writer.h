// A process as a writer of a dataset: the numbers that are its own (OwnState::field_dataset). They have a
// mark in the dataset before the first is used, so that purge finds what the process has left
// (client/unpublished.h). The mark stays as long as the process lives.
// Threads: any, under its lock. Errors: those of the store, when a range is taken.
#pragma once

#include "fields/record.h"

#include <cstdint>
#include <mutex>

namespace stepstore::fields {

inline constexpr std::uint64_t numbers_per_range = std::uint64_t{1} << 20;

// Objects are written in the order of their numbers, but for so many that may be on their way at once.
inline constexpr std::size_t max_unwritten_numbers = 256;

class Writer {
public:
    explicit Writer(Dataset& dataset);

    std::uint64_t object_number(); // of a new object; never given before. May allocate and register a range.
    struct Page {
        std::uint64_t writer;
        std::uint64_t page;
    };
    Page page_number(); // of a new index page

private:
    void take_range();

    Dataset& dataset_;
    std::mutex mutex_; // of OwnState::field_dataset: guards all below
    std::uint64_t number_ = 0;
    std::uint64_t next_object_ = 0;
    std::uint64_t end_object_ = 0;
    std::uint64_t next_page_ = 0;
};

} // namespace stepstore::fields

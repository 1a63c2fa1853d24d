#include "fields/writer.h"

namespace stepstore::fields {

Writer::Writer(Dataset& dataset) : dataset_(dataset)
{
    take_range();
}

void Writer::take_range()
{
    WriterRecord record;
    record.count = numbers_per_range;
    record.process = this_process();
    record.first = dataset_.allocate_numbers(record.count);
    writers_of(dataset_).put(record.first, record);
    number_ = record.first;
    next_object_ = record.first + 1;
    end_object_ = record.first + record.count;
    next_page_ = 0;
}

std::uint64_t Writer::object_number()
{
    const std::lock_guard lock(mutex_);
    if (next_object_ == end_object_) take_range();
    return next_object_++;
}

Writer::Page Writer::page_number()
{
    const std::lock_guard lock(mutex_);
    return {number_, next_page_++};
}

} // namespace stepstore::fields

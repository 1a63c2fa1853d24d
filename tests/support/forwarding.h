// A back end over another one, for tests that change or watch some of its calls. Each call goes to the other
// one unless a derived class overrides it. All methods of backend.h are pure, so none can be forgotten here.
#pragma once

#include "store/backend.h"

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace stepstore::testing {

class ForwardingTarget : public store::Target {
public:
    explicit ForwardingTarget(store::Target& real) : real_(real) {}

    void read(FunctionRef<void(store::ReadTransaction&)> body) override { real_.read(body); }
    void open_to_write() override { real_.open_to_write(); }
    void write(FunctionRef<void(store::WriteTransaction&)> body) override { real_.write(body); }
    store::ExtentRef append(std::span<store::Payload> payloads) override { return real_.append(payloads); }
    void entering(const store::ExtentRef& appended) override { real_.entering(appended); }
    void leaving(const store::ExtentRef& dropped) override { real_.leaving(dropped); }
    void read_extent(const store::ExtentRef& extent, std::uint64_t skip, MutableBytes into) override
    {
        real_.read_extent(extent, skip, into);
    }
    std::size_t fills_pages(std::size_t size) const override { return real_.fills_pages(size); }
    void release(const store::ExtentRef& extent) override { real_.release(extent); }
    std::vector<ExtentFile> extent_files() override { return real_.extent_files(); }
    std::uint64_t allocated(const store::ExtentRef& range) override { return real_.allocated(range); }
    void sync(bool own) override { real_.sync(own); }
    bool begin_sync(bool own) override { return real_.begin_sync(own); }
    Usage usage() override { return real_.usage(); }
    void compact() override { real_.compact(); }
    std::vector<std::string> check() override { return real_.check(); }
    void count(const store::Counters& added) override { real_.count(added); }
    store::Counters counters() override { return real_.counters(); }
    store::NetworkTarget* network() override { return real_.network(); }

protected:
    store::Target& real_;
};

// Its targets are T over those of the other one.
template <typename T>
class ForwardingStorage : public store::Storage {
public:
    ForwardingStorage(std::string path, std::unique_ptr<store::Storage> real)
        : Storage({std::move(path), real->targets(), real->durability(), real->capabilities()}),
          real_(std::move(real))
    {
        for (unsigned index = 0; index < targets(); ++index)
            targets_.emplace_back(real_->target(index));
        targets_.emplace_back(real_->meta());
    }
    store::Target& target(unsigned index) override { return targets_[index]; }
    store::Target& meta() override { return targets_.back(); }
    bool is_current() override { return real_->is_current(); }
    void claim() override { real_->claim(); }
    store::Epoch next_epoch() override { return real_->next_epoch(); }
    Space space() override { return real_->space(); }

private:
    const std::unique_ptr<store::Storage> real_;
    std::deque<T> targets_; // meta last
};

} // namespace stepstore::testing

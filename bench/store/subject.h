// What is measured: one of our operations, or the same work done by a peer with nothing of ours.
// Threads: one for each subject. Errors: std::runtime_error, with what the peer says.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace stepstore::bench {

enum class Operation { kv_put, kv_get, array_write, array_read };
enum class Peer { stepstore, lmdb, file, librados };

// Where a subject keeps its things: a directory, or a namespace on a Ceph cluster.
struct Location {
    std::string directory;
    std::string pool, name_space; // of Ceph; the pool empty: the directory
    bool on_ceph() const { return !pool.empty(); }
    std::string stepstore_pool() const
    {
        return on_ceph() ? "rados://" + pool + "/" + name_space : directory + "/pool";
    }
};

struct Case {
    Operation operation = Operation::kv_put;
    std::size_t size = 0; // bytes of a value or of a write
    unsigned processes = 1;
    bool power = false; // durability=power: every update is on the disk when it returns
    unsigned skew = 0;  // where in a cache line the caller's memory begins, bytes
    bool verify = true; // our array reads compare large payloads with their checksums
};

inline bool reads(const Case& one)
{
    return one.operation == Operation::kv_get || one.operation == Operation::array_read;
}

// How many different keys or places each process goes through, over and over: at most 64 MiB. Few where
// storing them first, with a sync each, would take longer than the reading that is measured.
inline std::uint64_t places(const Case& one)
{
    constexpr std::uint64_t budget = std::uint64_t{64} << 20;
    const std::uint64_t fitting = budget / one.size;
    return std::min<std::uint64_t>(fitting, reads(one) && one.power ? 300 : 20'000);
}

// One process's end of the work. Failures are thrown as std::runtime_error.
class Subject {
public:
    virtual ~Subject() = default;
    virtual void run(std::uint64_t place) = 0; // one operation

protected:
    // The memory of all subjects begins at the same place in a cache line. Copies differ by a factor of two
    // with that place, so an allocator's choice would decide the comparison.
    explicit Subject(const Case& one) : case_(one), memory_(one.size + 2 * cache_line)
    {
        const auto over = reinterpret_cast<std::uintptr_t>(memory_.data()) % cache_line;
        buffer_ = std::span(memory_).subspan(cache_line - over + one.skew, one.size);
        for (std::size_t at = 0; at < buffer_.size(); ++at)
            buffer_[at] = static_cast<char>(at * 131 + at / 977);
    }
    const Case case_;
    std::span<char> buffer_;

private:
    static constexpr std::size_t cache_line = 64;
    std::vector<char> memory_;
};

// Makes what the processes share, once, before they open it.
void make_stepstore(const Case& one, const Location& location);
void make_lmdb(const Case& one, const std::string& directory);
// Removes it from the cluster.
void remove_stepstore(const Location& location);
void remove_librados(const Location& location);

std::unique_ptr<Subject> open_stepstore(const Case& one, const Location& location, unsigned process);
std::unique_ptr<Subject> open_librados(const Case& one, const Location& location, unsigned process);
std::unique_ptr<Subject> open_lmdb(const Case& one, const std::string& directory, unsigned process);
std::unique_ptr<Subject> open_file(const Case& one, const std::string& directory, unsigned process);

} // namespace stepstore::bench

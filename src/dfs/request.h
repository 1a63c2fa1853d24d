// The akeys of one dkey that a call of libdaos reads or writes.
// Threads: each has its own. Errors: none but std::bad_alloc. What is given by pointer stays the caller's.
#pragma once

#include <cstdint>
#include <daos_obj.h>
#include <deque>
#include <string_view>
#include <vector>

namespace stepstore::dfs {

inline daos_key_t key_of(std::string_view text)
{
    daos_key_t key;
    d_iov_set(&key, const_cast<char*>(text.data()), text.size()); // libdaos only reads keys
    return key;
}

class Request {
public:
    // One value. size 0 with no memory: it is removed, or only its size is looked up.
    void single(std::string_view akey, const void* bytes, std::size_t size)
    {
        daos_iod_t& iod = add(akey, DAOS_IOD_SINGLE);
        iod.iod_size = size;
        iod.iod_nr = 1;
        piece(bytes, size);
    }
    // An array of bytes, of which `range` adds some.
    void array(std::string_view akey)
    {
        daos_iod_t& iod = add(akey, DAOS_IOD_ARRAY);
        iod.iod_size = 1;
    }
    void range(std::size_t offset, const void* bytes, std::size_t size)
    {
        Part& part = parts_.back();
        part.recxs.push_back({offset, size});
        iods_.back().iod_nr = static_cast<std::uint32_t>(part.recxs.size());
        iods_.back().iod_recxs = part.recxs.data();
        piece(bytes, size);
    }

    unsigned size() const { return static_cast<unsigned>(iods_.size()); }
    daos_iod_t* iods() { return iods_.data(); }
    d_sg_list_t* sgls() { return lists_.data(); }
    std::size_t filled(std::size_t i) const // bytes of the one piece of an akey, after a fetch
    {
        return lists_[i].sg_nr_out == 0 ? 0 : parts_[i].pieces[0].iov_len;
    }

    int update(daos_handle_t oh, std::uint64_t flags, std::string_view dkey)
    {
        daos_key_t key = key_of(dkey);
        return daos_obj_update(oh, DAOS_TX_NONE, flags, &key, size(), iods(), sgls(), nullptr);
    }
    int fetch(daos_handle_t oh, daos_handle_t th, std::uint64_t flags, std::string_view dkey)
    {
        daos_key_t key = key_of(dkey);
        return daos_obj_fetch(oh, th, flags, &key, size(), iods(), sgls(), nullptr, nullptr);
    }

private:
    struct Part {
        std::vector<daos_recx_t> recxs;
        std::vector<d_iov_t> pieces;
    };

    daos_iod_t& add(std::string_view akey, daos_iod_type_t type)
    {
        parts_.emplace_back();
        lists_.push_back({});
        daos_iod_t& iod = iods_.emplace_back();
        iod = {};
        iod.iod_name = key_of(akey);
        iod.iod_type = type;
        return iod;
    }
    void piece(const void* bytes, std::size_t size)
    {
        Part& part = parts_.back();
        d_iov_t iov;
        d_iov_set(&iov, const_cast<void*>(bytes), size); // an update only reads them
        part.pieces.push_back(iov);
        lists_.back() = {static_cast<std::uint32_t>(part.pieces.size()), 0, part.pieces.data()};
    }

    std::deque<Part> parts_; // the memory of others refers into it
    std::vector<daos_iod_t> iods_;
    std::vector<d_sg_list_t> lists_;
};

} // namespace stepstore::dfs

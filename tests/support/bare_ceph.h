// The objects of a pool of ours, with bare librados.
#pragma once

#include <rados/librados.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace stepstore::testing {

class BareCeph {
public:
    // location: rados://POOL/NAMESPACE
    explicit BareCeph(const std::string& location, const char* user = "admin")
    {
        const auto name_space = location.rfind('/');
        const std::string pool = location.substr(8, name_space - 8);
        if (rados_.init(user) != 0 || rados_.conf_read_file(nullptr) != 0 || rados_.connect() != 0 ||
            rados_.ioctx_create(pool.c_str(), io) != 0)
            throw std::runtime_error("cannot connect to the Ceph pool " + pool);
        io.set_namespace(location.substr(name_space + 1));
    }
    std::vector<std::string> objects()
    {
        std::vector<std::string> names;
        for (auto at = io.nobjects_begin(); at != io.nobjects_end(); ++at)
            names.push_back(at->get_oid());
        return names;
    }
    std::vector<obj_watch_t> watchers(const std::string& object)
    {
        std::list<obj_watch_t> found;
        if (io.list_watchers(object, &found) != 0)
            throw std::runtime_error("cannot list who watches the object " + object);
        return {found.begin(), found.end()};
    }

private:
    librados::Rados rados_; // before what uses it

public:
    librados::IoCtx io;
};

} // namespace stepstore::testing

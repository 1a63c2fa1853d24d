// An object of the library that one thread at a time may use, for Python.
// Threads: calls of several Python threads wait for each other here, without the interpreter's lock.
// Errors: -DER_NO_HDL once it is closed, and in a forked child, which may close it and forget it.
#pragma once

#include "common.h"

#include "base/own_state.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <nanobind/stl/map.h>

namespace stepstore::python {

template <OwnState kind, class T>
class Serial {
public:
    // `noun`: what a message calls it, such as "stream". The rest goes to T.
    template <class... Arguments>
    explicit Serial(std::string noun, Arguments&&... arguments) : noun_(std::move(noun))
    {
        alone([&](std::unique_ptr<T>& object) {
            object = std::make_unique<T>(std::forward<Arguments>(arguments)...);
        });
    }
    ~Serial()
    {
        if (open_.mine()) unlocked_at_end([&] { open_ = {}; }); // which may wait
    }
    Serial(const Serial&) = delete;
    Serial& operator=(const Serial&) = delete;

    template <class Body>
    auto use(Body&& body)
    {
        return alone([&](std::unique_ptr<T>& object) {
            if (!object) throw Error(-DER_NO_HDL, "this " + noun_ + " is closed: open it again");
            return body(*object);
        });
    }
    // A method of T without arguments.
    template <auto method>
    auto call()
    {
        return use([](T& object) { return (object.*method)(); });
    }
    // After it no call is possible, also when it throws.
    void close()
    {
        end([](T& object) { object.close(); });
    }
    void drop() // without T's close()
    {
        end([](T&) {});
    }
    bool closed()
    {
        return !open_.mine() || alone([](const std::unique_ptr<T>& object) { return !object; });
    }

private:
    struct Open {
        std::mutex mutex; // of `kind`: guards object
        std::unique_ptr<T> object;
    };

    template <class Body>
    auto alone(Body&& body)
    {
        return unlocked([&] {
            Open& open = *open_;
            const std::lock_guard lock(open.mutex);
            return body(open.object);
        });
    }
    template <class Last>
    void end(Last&& last)
    {
        if (!open_.mine()) return; // the parent's
        alone([&](std::unique_ptr<T>& object) {
            if (const auto ended = std::move(object)) last(*ended);
        });
    }

    OfProcess<kind, Open> open_ = std::make_shared<Open>();
    std::string noun_;
};

// `settings` by name, over the defaults. -DER_INVAL: there is no such option.
template <class Options>
Options options_of(const char* noun, const std::map<std::string, std::string>& settings)
{
    Options options;
    for (const auto& [name, value] : settings) {
        if (options.set(name, value)) continue;
        std::string known;
        for (const std::string& option : Options::names())
            known += (known.empty() ? "" : ", ") + option;
        throw Error(-DER_INVAL,
                    std::string("a ") + noun + " has no option '" + name + "': the options are " + known);
    }
    return options;
}

} // namespace stepstore::python

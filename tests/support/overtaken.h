// A process that is stopped just before one of its calls, while others do what they like. It is played by one
// process: a library that counts the calls which go through it runs the others' work in their midst. A test
// tries each call of an operation in turn, so it also covers those that are added later:
//
//     for (std::size_t at = 0;; ++at) { make anew; if (!overtaken.run(at, others, operation)) break; check; }
//
// What is connected before it is made is not counted, nor is what other threads do.
#pragma once

#include "stepstore/libdaos.h"

#include <functional>
#include <thread>
#include <utility>

namespace stepstore::testing {

class Overtaken {
public:
    Overtaken()
    {
        Library counting = Library::ours();
        real() = counting;
        count<&Library::kv_get>(counting);
        count<&Library::kv_list>(counting);
        count<&Library::kv_list_below>(counting);
        count<&Library::kv_put>(counting);
        count<&Library::kv_remove>(counting);
        count<&Library::kv_exchange>(counting);
        count<&Library::kv_put_if>(counting);
        count<&Library::kv_destroy>(counting);
        count<&Library::array_create>(counting);
        count<&Library::array_write>(counting);
        count<&Library::array_set_size>(counting);
        count<&Library::array_destroy>(counting);
        count<&Library::cont_create_with_label>(counting);
        count<&Library::cont_destroy>(counting);
        count<&Library::cont_alloc_oids>(counting);
        Library::replace_ours(counting);
        state() = {};
    }
    ~Overtaken() { Library::restore_ours(); }
    Overtaken(const Overtaken&) = delete;
    Overtaken& operator=(const Overtaken&) = delete;

    // Runs `operation` in this thread, and before its call number `at` the others' work. False: it has not so
    // many calls, and nobody came in between.
    template <class Operation>
    bool run(std::size_t at, std::function<void()> others, Operation operation)
    {
        state() = {std::this_thread::get_id(), at, std::move(others)};
        try {
            operation();
        } catch (...) {
            const bool came = !state().others;
            state() = {};
            if (!came) throw;
            failure_ = std::current_exception();
            return true;
        }
        failure_ = nullptr;
        const bool came = !state().others;
        state() = {};
        return came;
    }
    // What the operation threw after the others had come; nullptr: it succeeded.
    const std::exception_ptr& failure() const { return failure_; }

private:
    struct State {
        std::thread::id thread;
        std::size_t left = 0;
        std::function<void()> others;
    };
    static State& state()
    {
        static State state;
        return state;
    }
    static Library& real()
    {
        static Library library;
        return library;
    }
    static void about_to_call()
    {
        State& now = state();
        if (!now.others || std::this_thread::get_id() != now.thread) return;
        if (now.left-- == 0) std::exchange(now.others, nullptr)();
    }
    template <auto Member>
    struct Counted;
    template <class... Parameters, int (*Library::*Member)(Parameters...)>
    struct Counted<Member> {
        static int call(Parameters... parameters)
        {
            about_to_call();
            return (real().*Member)(parameters...);
        }
    };
    template <auto Member>
    static void count(Library& library)
    {
        library.*Member = &Counted<Member>::call;
    }

    std::exception_ptr failure_;
};

} // namespace stepstore::testing

// A value of each thread that may be asked for at any time, also by the destructors of static objects at
// exit(): those of the main thread's own objects have run before.
// Errors: nullptr, if the value is destroyed already.
#pragma once

namespace stepstore {

// Tag: any type, one for each use. nullptr: it is destroyed.
template <class T, class Tag>
T* of_thread()
{
    static thread_local bool gone = false; // outlives the value: it has no destructor
    struct Held {
        T value;
        ~Held() { gone = true; }
    };
    static thread_local Held held;
    return gone ? nullptr : &held.value;
}

} // namespace stepstore

#include "interpreter.h"

namespace stepstore::python {

namespace {

thread_local Unlocked* innermost = nullptr;
std::atomic<bool> all_end{false};

} // namespace

Unlocked::Unlocked() : outer_(innermost)
{
    let_go();
}

void Unlocked::let_go()
{
    innermost = this;
    state_ = PyEval_SaveThread();
}

void Unlocked::end()
{
    take_back();
    if (std::exchange(interrupted_, false)) throw nb::python_error();
}

void Unlocked::take_back() noexcept
{
    if (state_ == nullptr) return;
    stays_when_ended([&] { PyEval_RestoreThread(std::exchange(state_, nullptr)); });
    innermost = outer_;
}

bool Unlocked::is_locked() noexcept
{
    return PyGILState_GetThisThreadState() != nullptr &&
           (innermost == nullptr || innermost->state_ == nullptr);
}

bool Unlocked::asked_to_stop() noexcept
{
    if (all_end.load(std::memory_order_relaxed)) return true;
    Unlocked* const here = innermost;
    if (here == nullptr) return false;
    if (here->interrupted_) return true;
    stays_when_ended([&] {
        PyEval_RestoreThread(std::exchange(here->state_, nullptr)); // the handler runs with the lock
        here->interrupted_ = PyErr_CheckSignals() != 0;
        here->state_ = PyEval_SaveThread();
    });
    return here->interrupted_;
}

void Unlocked::end_all_waits(bool end) noexcept
{
    all_end.store(end);
}

} // namespace stepstore::python

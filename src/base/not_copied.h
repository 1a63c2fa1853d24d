// A base of classes whose objects stay as they are: they own something, or others refer to them.
#pragma once

namespace stepstore {

class NotCopied {
public:
    NotCopied() = default;
    NotCopied(const NotCopied&) = delete;
    NotCopied& operator=(const NotCopied&) = delete;
};

} // namespace stepstore

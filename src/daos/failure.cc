#include "daos/failure.h"

#include "base/of_thread.h"
#include "daos/api.h"
#include "stepstore/printable.h"

#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

namespace stepstore::daos {
namespace {

std::string* message_of_thread()
{
    return of_thread<std::string, struct Message>();
}

int code_of(const std::error_code& error)
{
    if (error == std::errc::no_such_file_or_directory) return -DER_NONEXIST;
    if (error == std::errc::permission_denied || error == std::errc::operation_not_permitted)
        return -DER_NO_PERM;
    if (error == std::errc::no_space_on_device) return -DER_NOSPACE;
    if (error == std::errc::not_a_directory) return -DER_NOTDIR;
    if (error == std::errc::not_enough_memory || error == std::errc::resource_unavailable_try_again)
        return -DER_NOMEM;
    return -DER_IO;
}

Failure made(const char* name, int code, const char* what)
{
    // A code that is no error would make a failed call look like a success.
    return {code < 0 ? code : -DER_MISC, std::string(name) + ": " + what};
}

} // namespace

Failure current_failure(const char* name) noexcept
try {
    try {
        throw;
    } catch (const Error& error) {
        return made(name, error.code(), error.what());
    } catch (const std::bad_alloc&) {
        return made(name, -DER_NOMEM, "out of memory");
    } catch (const std::length_error&) {
        return made(name, -DER_NOMEM, "the call asks for more memory than a process can have");
    } catch (const std::system_error& error) {
        return made(name, code_of(error.code()), error.what());
    } catch (const std::exception& error) {
        return made(name, -DER_MISC, error.what());
    } catch (...) {
        return made(name, -DER_MISC, "an exception of an unknown kind");
    }
} catch (...) {
    return {-DER_NOMEM, {}};
}

int report(Failure failure) noexcept
{
    set_last_message(std::move(failure.message));
    return failure.code;
}

void set_last_message(std::string message) noexcept
{
    auto* kept = message_of_thread();
    if (kept == nullptr) return;
    try {
        message = printable(message);
    } catch (const std::bad_alloc&) {
        message.clear();
    }
    *kept = std::move(message);
}

void require(const void* pointer, const char* what)
{
    if (pointer == nullptr) invalid(std::string(what) + " is NULL");
}

void invalid(const std::string& message)
{
    throw Error(-DER_INVAL, message);
}

} // namespace stepstore::daos

extern "C" const char* stepstore_last_message(void)
{
    const auto* message = stepstore::daos::message_of_thread();
    return message != nullptr ? message->c_str() : "";
}

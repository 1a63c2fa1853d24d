// The helpers of gurt/common.h: memory and environment variables.
#include "daos/api.h"

#include <gurt/common.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

// A decimal number, also with a sign, as those of gurt.
template <class Number>
int number_in(const char* name, Number* value)
{
    if (!name || !value) return -DER_INVAL;
    const char* text = std::getenv(name);
    if (!text) return -DER_NONEXIST;
    std::string_view digits(text);
    while (!digits.empty() && std::strchr(" \t\n\v\f\r", digits.front()))
        digits.remove_prefix(1);
    const bool negative = digits.starts_with('-');
    if (negative || digits.starts_with('+')) digits.remove_prefix(1);
    Number number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) return -DER_INVAL;
    *value = negative ? static_cast<Number>(Number{0} - number) : number;
    return 0;
}

} // namespace

extern "C" {

void* d_calloc(size_t count, size_t size)
{
    return std::calloc(count, size);
}

void* d_malloc(size_t size)
{
    return std::malloc(size);
}

void* d_realloc(void* ptr, size_t size)
{
    return std::realloc(ptr, size);
}

void d_free(void* ptr)
{
    std::free(ptr);
}

char* d_strndup(const char* text, size_t most)
{
    return text ? strndup(text, most) : nullptr;
}

int d_asprintf(char** text, const char* format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vasprintf(text, format, arguments);
    va_end(arguments);
    return length;
}

void* d_aligned_alloc(size_t alignment, size_t size, bool zero)
{
    void* memory = std::aligned_alloc(alignment, size);
    if (memory && zero) std::memset(memory, 0, size);
    return memory;
}

char* d_realpath(const char* path, char* resolved)
{
    return realpath(path, resolved);
}

int d_getenv_str(char* str_val, size_t str_size, const char* name)
{
    if (!str_val || str_size == 0 || !name) return -DER_INVAL;
    const char* text = std::getenv(name);
    if (!text) return -DER_NONEXIST;
    const std::string_view all(text);
    const std::size_t given = all.copy(str_val, str_size - 1);
    str_val[given] = '\0';
    return given < all.size() ? -DER_TRUNC : 0;
}

int d_agetenv_str(char** str_val, const char* name)
{
    if (!str_val || !name) return -DER_INVAL;
    *str_val = nullptr;
    const char* text = std::getenv(name);
    if (!text) return -DER_NONEXIST;
    *str_val = strdup(text);
    return *str_val ? 0 : -DER_NOMEM;
}

void d_freeenv_str(char** str_val)
{
    if (!str_val) return;
    std::free(*str_val);
    *str_val = nullptr;
}

int d_getenv_bool(const char* name, bool* bool_val)
{
    long long number = 0;
    if (!name || !bool_val) return -DER_INVAL;
    const char* text = std::getenv(name);
    if (!text) return -DER_NONEXIST;
    const std::string_view all(text);
    const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), number);
    *bool_val = error != std::errc() || end != all.data() + all.size() || number != 0;
    return 0;
}

int d_getenv_char(const char* name, char* char_val)
{
    if (!name || !char_val) return -DER_INVAL;
    const char* text = std::getenv(name);
    if (!text) return -DER_NONEXIST;
    if (std::strlen(text) != 1) return -DER_INVAL;
    *char_val = *text;
    return 0;
}

int d_getenv_uint(const char* name, unsigned int* uint_val)
{
    return number_in(name, uint_val);
}

int d_getenv_uint32_t(const char* name, uint32_t* uint32_val)
{
    return number_in(name, uint32_val);
}

int d_getenv_uint64_t(const char* name, uint64_t* uint64_val)
{
    return number_in(name, uint64_val);
}

bool d_isenv_def(char* name)
{
    return name && std::getenv(name);
}

int d_setenv(const char* name, const char* value, int overwrite)
{
    if (name && value) return setenv(name, value, overwrite);
    errno = EINVAL;
    return -1;
}

int d_unsetenv(const char* name)
{
    if (name) return unsetenv(name);
    errno = EINVAL;
    return -1;
}

} // extern "C"

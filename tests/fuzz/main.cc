// The entry of libFuzzer. Without libFuzzer (STEPSTORE_FUZZ_REPLAY) the program runs the inputs in the
// folders that it is given, and no others.
#include "fuzz.h"

#include <filesystem>
#include <fstream>
#include <iterator>

using namespace stepstore;

namespace {

fuzz::Run chosen = nullptr;

} // namespace

// FUZZ_HARNESS=list prints the names of all.
extern "C" int LLVMFuzzerInitialize(int*, char***)
{
    const char* name = std::getenv("FUZZ_HARNESS");
    const auto found = fuzz::harnesses().find(name != nullptr ? name : "");
    if (found != fuzz::harnesses().end()) {
        chosen = found->second;
        return 0;
    }
    for (const auto& [known, run] : fuzz::harnesses())
        std::puts(known.c_str());
    std::fflush(stdout);
    std::_Exit(name != nullptr && std::string_view(name) == "list" ? 0 : 2); // libFuzzer dislikes exit()
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fuzz::Input input({reinterpret_cast<const std::byte*>(data), size});
    try {
        chosen(input);
    } catch (const Error&) {
    }
    return 0;
}

#ifdef STEPSTORE_FUZZ_REPLAY
int main(int count, char** arguments)
{
    LLVMFuzzerInitialize(&count, &arguments);
    LLVMFuzzerTestOneInput(nullptr, 0);
    for (int i = 1; i < count; ++i) {
        if (!std::filesystem::is_directory(arguments[i])) continue; // an option of libFuzzer
        for (const auto& file : std::filesystem::directory_iterator(arguments[i])) {
            std::ifstream stream(file.path(), std::ios::binary);
            const std::vector<char> content(std::istreambuf_iterator<char>(stream), {});
            // Exactly as long as it is, so that a read beyond its end is found.
            const auto copy = std::make_unique<std::uint8_t[]>(content.size());
            std::ranges::copy(content, copy.get());
            LLVMFuzzerTestOneInput(copy.get(), content.size());
        }
    }
}
#endif

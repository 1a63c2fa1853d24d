// Buffers in the memory of a device, in a program that test_derived.py builds against an ADIOS2 with
// GPU_SUPPORT. There is no device: this program stands in for ADIOS2's functions that copy from and to one,
// and ends if anybody else touches the memory. It prints what it reads back, which is the same with each
// engine.
//   device_program ENGINE FOLDER
// Or it writes blocks of 64 MiB to a location. It prints how long a step took (median of 10), and how much
// memory of the host the process had at most beside the block.
//   device_program ENGINE FOLDER LOCATION
#include <adios2.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

// Of device_driver.cc, where that is preloaded.
extern "C" {
[[gnu::weak]] bool driver_has_locked(const void* memory, std::size_t bytes);
[[gnu::weak]] std::size_t driver_locked();
[[gnu::weak]] int hipGetLastError();
}

namespace {

std::map<const char*, std::size_t> on_device; // where they begin, bytes
std::size_t copied_out = 0, copied_in = 0, kernels = 0, largest_copy = 0;
std::size_t copied_to_locked = 0, copied_from_locked = 0; // memory
bool guarded = true;                                      // against all but the functions below

bool is_on_device(const void* at)
{
    const auto* byte = static_cast<const char*>(at);
    auto after = on_device.upper_bound(byte);
    if (after == on_device.begin()) return false;
    --after;
    return byte < after->first + after->second;
}

void allow(int how)
{
    if (!guarded) return;
    for (const auto& [begin, bytes] : on_device)
        if (mprotect(const_cast<char*>(begin), bytes, how) != 0) throw std::runtime_error("mprotect");
}

template <class T>
T* device(std::size_t elements)
{
    const std::size_t bytes = (elements * sizeof(T) + 4095) / 4096 * 4096;
    void* memory = mmap(nullptr, bytes, guarded ? PROT_NONE : PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("mmap");
    on_device[static_cast<char*>(memory)] = bytes;
    return static_cast<T*>(memory);
}

void copy(void* to, const void* from, std::size_t bytes)
{
    allow(PROT_READ | PROT_WRITE);
    std::memcpy(to, from, bytes);
    allow(PROT_NONE);
}

// The driver of a device writes to these pages, so a child must not get them.
void expect_not_in_a_child(void* memory)
{
    const pid_t child = fork();
    if (child == 0) {
        unsigned char there = 0;
        void* page = static_cast<char*>(memory) - reinterpret_cast<std::size_t>(memory) % 4096;
        _exit(mincore(page, 1, &there) != 0 && errno == ENOMEM ? 0 : 1);
    }
    int end = -1;
    waitpid(child, &end, 0);
    if (end != 0) throw std::runtime_error("a child has page-locked memory");
}

template <class T>
T* device(const std::vector<T>& values)
{
    T* memory = device<T>(values.size());
    copy(memory, values.data(), values.size() * sizeof(T));
    return memory;
}

template <class T>
std::vector<T> host(const T* from, std::size_t elements)
{
    std::vector<T> values(elements);
    copy(values.data(), from, elements * sizeof(T));
    return values;
}

} // namespace

namespace adios2::helper {

void MemcpyGPUToBuffer(char* to, const char* from, std::size_t bytes)
{
    if (bytes > 0 && !is_on_device(from)) throw std::logic_error("copied from what is not on the device");
    copied_out += bytes;
    if (driver_has_locked != nullptr && driver_has_locked(to, bytes)) {
        if (copied_to_locked == 0) expect_not_in_a_child(to);
        copied_to_locked += bytes;
    }
    largest_copy = std::max(largest_copy, bytes);
    copy(to, from, bytes);
}

void MemcpyBufferToGPU(char* to, const char* from, std::size_t bytes)
{
    if (bytes > 0 && !is_on_device(to)) throw std::logic_error("copied to what is not on the device");
    copied_in += bytes;
    if (driver_has_locked != nullptr && driver_has_locked(from, bytes)) copied_from_locked += bytes;
    copy(to, from, bytes);
}

bool IsGPUbuffer(const void* at)
{
    return is_on_device(at);
}

template <class T>
void GPUMinMax(const T* values, const std::size_t elements, T& min, T& max)
{
    ++kernels;
    allow(PROT_READ);
    const auto found = std::minmax_element(values, values + elements);
    min = *found.first;
    max = *found.second;
    allow(PROT_NONE);
}
template void GPUMinMax(const float*, const std::size_t, float&, float&);
template void GPUMinMax(const double*, const std::size_t, double&, double&);
template void GPUMinMax(const std::int32_t*, const std::size_t, std::int32_t&, std::int32_t&);

} // namespace adios2::helper

namespace {

template <class Values>
void show(const std::string& what, const Values& values)
{
    std::cout << what << ":";
    for (const auto& one : values)
        std::cout << " " << one;
    std::cout << "\n";
}

std::vector<double> counted(std::size_t elements, double from)
{
    std::vector<double> values(elements);
    for (auto& one : values)
        one = from++;
    return values;
}

constexpr std::size_t large_row = (10 << 20) / sizeof(float) + 3;

std::vector<float> large_values(std::size_t number)
{
    std::vector<float> values(large_row);
    for (std::size_t i = 0; i < large_row; ++i)
        values[i] = static_cast<float>(i % 1000 + 7 * number);
    values[large_row / 2] = -static_cast<float>(number) - 1;
    return values;
}

adios2::Engine open(adios2::IO& io, const std::string& name, adios2::Mode mode)
{
    if (io.EngineType() == "Plugin")
        io.SetParameters(
            {{"PluginName", "stepstore"}, {"PluginLibrary", "stepstore_adios2"}, {"Location", name}});
    return io.Open(name, mode);
}

void write(adios2::IO io, const std::string& name, bool ours)
{
    auto found = io.DefineVariable<double>("found", {2, 3}, {0, 0}, {2, 3}); // by its address
    auto told = io.DefineVariable<double>("told", {4}, {0}, {2});
    told.SetMemorySpace(adios2::MemorySpace::GPU);
    auto on_host = io.DefineVariable<std::int32_t>("on_host", {3}, {0}, {3});
    auto inner = io.DefineVariable<float>("inner", {2, 2}, {0, 0}, {2, 2});
    auto single = io.DefineVariable<double>("single");
    auto partly = io.DefineVariable<double>("partly", {4}, {1}, {2});
    auto large = io.DefineVariable<float>("large", {2 * large_row}, {0}, {large_row});
    float* row = device<float>(large_row);
    auto engine = open(io, name, adios2::Mode::Write);
    for (int step = 0; step < 2; ++step) {
        engine.BeginStep();
        double* matrix = device(counted(6, 10 * step));
        engine.Put(found, matrix, step == 0 ? adios2::Mode::Sync : adios2::Mode::Deferred);
        double* halves = device(counted(4, 100 + step));
        for (std::size_t half = 0; half < 2; ++half) {
            told.SetSelection({{2 * half}, {2}});
            engine.Put(told, halves + 2 * half);
        }
        const std::vector<std::int32_t> three{7, 8, 9};
        engine.Put(on_host, three.data(), adios2::Mode::Sync);
        for (std::size_t which = 0; which < 2; ++which) { // both from the same memory
            const auto values = large_values(2 * static_cast<std::size_t>(step) + which);
            copy(row, values.data(), large_row * sizeof(float));
            large.SetSelection({{which * large_row}, {large_row}});
            engine.Put(large, row, which == 0 ? adios2::Mode::Sync : adios2::Mode::Deferred);
        }
        if (ours) { // BP5 takes the block without looking at the memory selection, and single values directly
            std::vector<float> with_ghosts(16, -1);
            for (std::size_t i = 0; i < 4; ++i)
                with_ghosts[(1 + i / 2) * 4 + 1 + i % 2] = static_cast<float>(i + 1);
            inner.SetMemorySelection({{1, 1}, {4, 4}});
            engine.Put(inner, device(with_ghosts));
            engine.Put(partly, device(std::vector<double>{1, 2}));
            engine.Put(single, device(std::vector<double>{4.5}), adios2::Mode::Sync);
        }
        engine.EndStep();
    }
    engine.Close();
    if (ours && largest_copy > large_row * sizeof(float) / 2)
        throw std::runtime_error("a large block was not copied in pieces");
}

// Of one writer: how much lay in page-locked memory, and that all of that is given back.
void check_locked(bool ours)
{
    if (driver_locked == nullptr) return;
    const std::string driver = std::getenv("STEPSTORE_TEST_DRIVER");
    constexpr std::size_t large_blocks = 4 * large_row * sizeof(float);
    if (copied_to_locked != (ours && driver != "none" ? large_blocks : 0))
        throw std::runtime_error(std::to_string(copied_to_locked) + " bytes in page-locked memory");
    if (driver_locked() != (ours && driver == "keeps" ? 2 : 0))
        throw std::runtime_error(std::to_string(driver_locked()) + " pieces are still page-locked");
    if (hipGetLastError() != 0) throw std::runtime_error("an error is left");
}

// BP5 copies deferred gets on several threads, for which copy() is not made.
void get_halves(adios2::IO& io, adios2::Engine& engine, const std::vector<float>& row, bool ours)
{
    auto large = io.InquireVariable<float>("large");
    large.SetMemorySpace(adios2::MemorySpace::GPU);
    constexpr std::size_t half = large_row / 2;
    float* halves[] = {device<float>(half), device<float>(half)};
    for (std::size_t which = 0; which < 2; ++which) {
        large.SetSelection({{which * half}, {half}});
        engine.Get(large, halves[which], ours ? adios2::Mode::Deferred : adios2::Mode::Sync);
    }
    engine.PerformGets();
    for (std::size_t which = 0; which < 2; ++which)
        if (host(halves[which], half) !=
            std::vector<float>(row.begin() + which * half, row.begin() + (which + 1) * half))
            throw std::runtime_error("half a row on the device");
    if (!ours) return;
    double* partly = device<double>(4); // what was not put shows nothing of other gets
    engine.Get(io.InquireVariable<double>("partly"), partly, adios2::Mode::Sync);
    if (host(partly, 4) != std::vector<double>{0, 1, 2, 0}) throw std::runtime_error("a part that was put");
}

void read(adios2::IO io, const std::string& name, bool ours)
{
    auto engine = open(io, name, adios2::Mode::Read);
    for (int step = 0; engine.BeginStep() == adios2::StepStatus::OK; ++step) {
        auto found = io.InquireVariable<double>("found");
        show("shape", found.Shape());
        auto large = io.InquireVariable<float>("large");
        std::vector<float> rows;
        engine.Get(large, rows, adios2::Mode::Sync);
        show("extremes of large", std::vector<float>{large.Min(), large.Max()});
        for (std::size_t which = 0; which < 2; ++which) {
            const auto expected = large_values(2 * static_cast<std::size_t>(step) + which);
            if (!std::equal(expected.begin(), expected.end(), rows.begin() + which * large_row))
                throw std::runtime_error("a large block on the device");
        }
        show("shape on the device", found.Shape(adios2::MemorySpace::GPU));
        show("extremes", std::vector<double>{found.Min(), found.Max()});
        std::vector<double> values;
        if (step == 0) { // the first buffer decides
            engine.Get(found, values, adios2::Mode::Sync);
            show("on the host", values);
        }
        auto told = io.InquireVariable<double>("told");
        told.SetMemorySpace(adios2::MemorySpace::GPU);
        told.SetSelection({{1}, {2}});
        double* to = device<double>(2);
        engine.Get(told, to, adios2::Mode::Deferred);
        engine.PerformGets();
        show("two on the device", host(to, 2));
        auto on_host = io.InquireVariable<std::int32_t>("on_host");
        std::int32_t* three = device<std::int32_t>(3);
        engine.Get(on_host, three, adios2::Mode::Sync);
        show("from the host's to the device", host(three, 3));
        if (ours) {
            auto inner = io.InquireVariable<float>("inner");
            float* around = device(std::vector<float>(16, -2));
            inner.SetMemorySelection({{1, 1}, {4, 4}});
            engine.Get(inner, around, adios2::Mode::Sync);
            const auto there = host(around, 16);
            if (there[5] + there[6] * 10 + there[9] * 100 + there[10] * 1000 + there[0] != 4319)
                throw std::runtime_error("a part of an array on the device");
            double* single = device<double>(1);
            engine.Get(io.InquireVariable<double>("single"), single, adios2::Mode::Sync);
            if (host(single, 1).front() != 4.5) throw std::runtime_error("a value on the device");
        }
        engine.EndStep();
    }
    engine.Close();
    // Row by row on the host, column by column on the device.
    auto matrix = io.InquireVariable<double>("found");
    if (matrix) io.RemoveVariable("found");
    if (io.InquireVariable<float>("large")) io.RemoveVariable("large");
    engine = open(io, name, adios2::Mode::Read);
    engine.BeginStep();
    auto found = io.InquireVariable<double>("found");
    found.SetMemorySpace(adios2::MemorySpace::GPU);
    double* part = device<double>(4);
    found.SetSelection({{0, 1}, {2, 2}});
    engine.Get(found, part, adios2::Mode::Sync);
    show("a part on the device", host(part, 4));
    get_halves(io, engine, large_values(0), ours);
    engine.EndStep();
    engine.Close();
}

// Of one reader: of two large gets together the first one has page-locked memory.
void check_gets(bool ours)
{
    if (driver_locked == nullptr) return;
    const std::string driver = std::getenv("STEPSTORE_TEST_DRIVER");
    const std::size_t halves = copied_from_locked / (large_row / 2 * sizeof(float));
    if (halves != (ours && (driver == "cuda" || driver == "hip") ? 1 : 0))
        throw std::runtime_error(std::to_string(copied_from_locked) + " bytes from page-locked memory");
    if (driver_locked() != (ours && driver == "keeps" ? 2 : 0))
        throw std::runtime_error("memory of the reader is still page-locked");
    if (hipGetLastError() != 0) throw std::runtime_error("an error is left");
}

// KiB that the process had at most.
long peak()
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("VmHWM:", 0) == 0) return std::stol(line.substr(6));
    return 0;
}

void time(adios2::IO io, const std::string& name)
{
    guarded = false;
    const std::size_t elements = (64 << 20) / sizeof(double);
    auto variable = io.DefineVariable<double>("large", {elements}, {0}, {elements});
    double* values = device<double>(elements);
    std::fill_n(values, elements, 1.5);
    const long before = peak();
    auto engine = open(io, name, adios2::Mode::Write);
    std::vector<double> milliseconds;
    for (int step = 0; step < 10; ++step) {
        values[step] = step;
        engine.BeginStep();
        const auto begin = std::chrono::steady_clock::now();
        engine.Put(variable, values, step % 2 == 0 ? adios2::Mode::Sync : adios2::Mode::Deferred);
        engine.EndStep();
        milliseconds.push_back(
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    }
    engine.Close();
    std::sort(milliseconds.begin(), milliseconds.end());
    std::cout << io.EngineType() << ": " << milliseconds[5] << " ms, " << (peak() - before) / 1024
              << " MiB\n";
}

} // namespace

int main(int, char** arguments)
{
    const std::string engine = arguments[1], name = std::string(arguments[2]) + "/stream";
    try {
        adios2::ADIOS adios;
        auto writing = adios.DeclareIO("writing"), reading = adios.DeclareIO("reading");
        writing.SetEngine(engine);
        reading.SetEngine(engine);
        if (arguments[3] != nullptr) {
            time(writing, arguments[3]);
            return 0;
        }
        write(writing, name, engine != "BP5");
        check_locked(engine != "BP5");
        if (driver_locked != nullptr && std::getenv("STEPSTORE_TEST_DRIVER") == std::string("keeps")) {
            auto again = adios.DeclareIO("again");
            again.SetEngine(engine);
            write(again, name + "_again", engine != "BP5");
            check_locked(engine != "BP5"); // no more than before
        }
        if (kernels == 0) throw std::runtime_error("minimum and maximum were not found on the device");
        read(reading, name, engine != "BP5");
        check_gets(engine != "BP5");
        if (copied_out == 0 || copied_in == 0) throw std::runtime_error("nothing was copied");
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}

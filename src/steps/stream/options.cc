#include "steps/stream/options.h"

#include "base/text.h"
#include "steps/layouts/data_store.h"
#include "steps/layouts/layout.h"
#include "steps/stream/step_selection.h"

#include <daos_errno.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cmath>
#include <functional>
#include <utility>

namespace stepstore::steps {

namespace {

template <class E>
struct Choice {
    std::string_view name;
    E value;
};

constexpr std::array objects_choices = {
    Choice<Objects>{"single", Objects::single},
    Choice<Objects>{"per-step", Objects::per_step},
    Choice<Objects>{"per-writer", Objects::per_writer},
    Choice<Objects>{"per-machine", Objects::per_machine},
};
constexpr std::array step_modes = {
    Choice<StepMode>{"extend", StepMode::extend},
    Choice<StepMode>{"snapshot", StepMode::snapshot},
};
constexpr std::array readers_choices = {
    Choice<Readers>{"auto", Readers::automatic},
    Choice<Readers>{"delegate", Readers::delegate},
    Choice<Readers>{"everyone", Readers::everyone},
};
constexpr std::array durabilities = {
    Choice<Durability>{"process", Durability::process},
    Choice<Durability>{"power", Durability::power},
};
constexpr std::array on_off = {
    Choice<bool>{"on", true},     Choice<bool>{"off", false}, Choice<bool>{"true", true},
    Choice<bool>{"false", false}, Choice<bool>{"yes", true},  Choice<bool>{"no", false},
    Choice<bool>{"1", true},      Choice<bool>{"0", false},
};

constexpr std::array async_writes = {
    // as BP5 has them; its ways to write beside the program are one here
    Choice<bool>{"off", false},  Choice<bool>{"on", true},    Choice<bool>{"false", false},
    Choice<bool>{"true", true},  Choice<bool>{"sync", false}, Choice<bool>{"guided", true},
    Choice<bool>{"naive", true}, Choice<bool>{"auto", true},
};

template <class Choices>
std::vector<std::string> all_names(const Choices& choices)
{
    std::vector<std::string> names;
    for (const auto& choice : choices)
        names.emplace_back(choice.name);
    return names;
}

template <class Choices>
std::string valid_names(const Choices& choices)
{
    std::string names;
    for (const auto& choice : choices)
        names += (names.empty() ? "" : ", ") + std::string(choice.name);
    return names;
}

[[noreturn]] void bad_value(std::string_view name, std::string_view value, const std::string& valid)
{
    throw Error(-DER_INVAL, std::string(name) + "='" + std::string(value) + "': valid are " + valid);
}

template <class Choices>
auto chosen(std::string_view name, std::string_view value, const Choices& choices)
{
    const std::string wanted = lower(value);
    for (const auto& choice : choices)
        if (choice.name == wanted) return choice.value;
    bad_value(name, value, valid_names(choices));
}

template <class E, class Choices>
void require_known(std::string_view name, E value, const Choices& choices)
{
    for (const auto& choice : choices)
        if (choice.value == value) return;
    throw Error(-DER_INVAL, std::string(name) + " has no value number " +
                                std::to_string(static_cast<int>(value)) + ": valid are " +
                                valid_names(choices));
}

std::uint64_t size_value(std::string_view name, std::string_view value, std::uint64_t least)
{
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    std::string unit = lower(std::string_view(end, value.data() + value.size()));
    if (unit.ends_with("ib"))
        unit.resize(unit.size() - 2);
    else if (unit.ends_with("b"))
        unit.pop_back();
    const int shift = unit.empty()  ? 0
                      : unit == "k" ? 10
                      : unit == "m" ? 20
                      : unit == "g" ? 30
                      : unit == "t" ? 40
                                    : -1;
    if (error != std::errc{} || shift < 0 || number > (UINT64_MAX >> 1 >> shift) || (number << shift) < least)
        bad_value(name, value,
                  "numbers of bytes from " + std::to_string(least) +
                      ", also with k, M or G (powers of 1,024)");
    return number << shift;
}

std::int64_t integer_value(std::string_view name, std::string_view value)
{
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size()) bad_value(name, value, "whole numbers");
    return number;
}

constexpr double longest_timeout = 1e6; // seconds

double seconds_value(std::string_view name, std::string_view value)
{
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size() || !std::isfinite(number))
        bad_value(name, value, "numbers of seconds");
    return number;
}

std::string class_value(std::string_view name, std::string_view value)
{
    const bool plain =
        std::ranges::all_of(value, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
    if (value.empty() || value.size() > 32 || !plain)
        bad_value(name, value, "names of object classes, such as S1, S2, SX, RP_2G1");
    return std::string(value);
}

CompressionMethod compression_value(std::string_view name, std::string_view value)
{
    try {
        return compression_method_named(value);
    } catch (const Error& error) {
        throw Error(error.code(), std::string(name) + "=" + error.what());
    }
}

std::uint32_t count_value(std::string_view name, std::string_view value)
{
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(size_value(name, value, 0), UINT32_MAX));
}

template <class Options>
struct Setter {
    std::string_view name;
    std::function<void(Options&, std::string_view name, std::string_view value)> set;
};

const std::vector<Setter<WriterOptions>>& writer_setters()
{
    using O = WriterOptions;
    using V = std::string_view;
    static const std::vector<Setter<O>> setters = {
        {"Layout", [](O& o, V, V v) { o.layout = layout_named(lower(v)).name; }},
        {"Objects", [](O& o, V n, V v) { o.objects = chosen(n, v, objects_choices); }},
        {"RanksPerObject", [](O& o, V n, V v) { o.ranks_per_object = count_value(n, v); }},
        {"RanksPerAggregator", [](O& o, V n, V v) { o.ranks_per_aggregator = count_value(n, v); }},
        {"Steps", [](O& o, V n, V v) { o.step_mode = chosen(n, v, step_modes); }},
        {"ChunkSize", [](O& o, V n, V v) { o.chunk_size = size_value(n, v, 1); }},
        {"ObjectClass", [](O& o, V n, V v) { o.object_class = class_value(n, v); }},
        {"DataChunkSize", [](O& o, V n, V v) { o.data_chunk_size = size_value(n, v, 1); }},
        {"DataObjectClass", [](O& o, V n, V v) { o.data_object_class = class_value(n, v); }},
        {"StatsLevel", [](O& o, V n, V v) { o.statistics = size_value(n, v, 0) > 0; }},
        {"Profile", [](O& o, V n, V v) { o.profile = chosen(n, v, on_off); }},
        {"MinDeferredSize", [](O& o, V n, V v) { o.min_deferred_size = size_value(n, v, 0); }},
        {"AsyncWrite", [](O& o, V n, V v) { o.async_write = chosen(n, v, async_writes); }},
        {"Compression", [](O& o, V n, V v) { o.compression.method = compression_value(n, v); }},
        {"CompressionLevel",
         [](O& o, V n, V v) {
             o.compression.level = static_cast<int>(std::min<std::uint64_t>(size_value(n, v, 0), INT_MAX));
         }},
        {"MetadataCompression", [](O& o, V n, V v) { o.metadata_compression = compression_value(n, v); }},
        {"Durability", [](O& o, V n, V v) { o.durability = chosen(n, v, durabilities); }},
        {"Targets",
         [](O& o, V n, V v) {
             o.targets = static_cast<unsigned>(std::min<std::uint64_t>(size_value(n, v, 1), 65536));
         }},
        {"AppendAfterSteps", [](O& o, V n, V v) { o.append_after = integer_value(n, v); }},
        {"WriterTimeoutSecs",
         [](O& o, V n, V v) {
             const double seconds = seconds_value(n, v);
             if (seconds < 0 || seconds > longest_timeout)
                 bad_value(n, v, "numbers of seconds from 0 to 1e6");
             o.writer_timeout = seconds;
         }},
    };
    return setters;
}

const std::vector<Setter<ReaderOptions>>& reader_setters()
{
    using O = ReaderOptions;
    using V = std::string_view;
    static const std::vector<Setter<O>> setters = {
        {"Readers", [](O& o, V n, V v) { o.readers = chosen(n, v, readers_choices); }},
        {"ReadAhead",
         [](O& o, V n, V v) {
             o.read_ahead.reset();
             if (lower(v) != "auto") o.read_ahead = size_value(n, v, 0);
         }},
        {"SelectSteps", [](O& o, V, V v) { o.select_steps = StepSelection(v).text(); }},
        {"OpenTimeoutSecs", [](O& o, V n, V v) { o.open_timeout = seconds_value(n, v); }},
        {"BeginStepPollingFrequencySecs",
         [](O& o, V n, V v) {
             const double seconds = seconds_value(n, v);
             o.poll_interval = seconds > 0 ? seconds : ReaderOptions().poll_interval;
         }},
        {"Profile", [](O& o, V n, V v) { o.profile = chosen(n, v, on_off); }},
    };
    return setters;
}

template <class Options>
bool set_option(Options& options, const std::vector<Setter<Options>>& setters, std::string_view name,
                std::string_view value)
{
    for (const Setter<Options>& setter : setters) {
        if (!same_name(setter.name, name)) continue;
        setter.set(options, setter.name, value);
        return true;
    }
    return false;
}

template <class Options>
std::vector<std::string> names_of(const std::vector<Setter<Options>>& setters)
{
    std::vector<std::string> names;
    for (const Setter<Options>& setter : setters)
        names.emplace_back(setter.name);
    return names;
}

// The names of the layouts that can do something, for a message.
std::string layouts_that(bool Layout::*can)
{
    std::string names;
    for (const Layout* layout : layouts())
        if (layout->*can) names += (names.empty() ? "" : " or ") + std::string(layout->name);
    return names;
}

void check_snapshots(const Layout& layout, const WriterOptions& options)
{
    if (!layout.data->in_snapshots)
        throw Error(-DER_INVAL, "Steps=snapshot does not go with Layout=" + std::string(layout.name) +
                                    ": a snapshot of the container does not keep its files");
    if (options.objects == Objects::per_step)
        throw Error(-DER_INVAL, "Steps=snapshot does not go with Objects=per-step: each step is written over "
                                "the one before, in the same objects");
}

void check_aggregators(const Layout& layout, const WriterOptions& options)
{
    if (options.ranks_per_aggregator < 2) return;
    const std::string what = "RanksPerAggregator=" + std::to_string(options.ranks_per_aggregator);
    if (!layout.aggregates)
        throw Error(-DER_INVAL, what + " does not go with Layout=" + std::string(layout.name) +
                                    ", whose ranks exchange something in each step anyway: take " +
                                    layouts_that(&Layout::aggregates) + ", or leave it out");
    if (options.step_mode == StepMode::snapshot)
        throw Error(-DER_INVAL, what + " does not go with Steps=snapshot: leave one of them out");
    const std::uint64_t chunk = options.chunk_size != 0 ? options.chunk_size : layout.chunk_size;
    if (options.ranks_per_aggregator > most_chunk_size / chunk)
        throw Error(-DER_INVAL, what + ": with a chunk of " + std::to_string(chunk) + " bytes give at most " +
                                    std::to_string(most_chunk_size / chunk));
}

} // namespace

std::string_view name_of(Objects objects)
{
    for (const auto& choice : objects_choices)
        if (choice.value == objects) return choice.name;
    return "unknown";
}

std::vector<std::string> WriterOptions::choices(std::string_view name)
{
    std::vector<std::string> names;
    if (same_name(name, "Layout"))
        for (const Layout* layout : layouts())
            names.emplace_back(layout->name);
    if (same_name(name, "Objects")) names = all_names(objects_choices);
    if (same_name(name, "Steps")) names = all_names(step_modes);
    return names;
}

std::string_view name_of(StepMode mode)
{
    for (const auto& choice : step_modes)
        if (choice.value == mode) return choice.name;
    return "unknown";
}

bool WriterOptions::set(std::string_view name, std::string_view value)
{
    return set_option(*this, writer_setters(), name, value);
}

std::vector<std::string> WriterOptions::names()
{
    return names_of(writer_setters());
}

std::vector<std::string> ReaderOptions::choices(std::string_view name)
{
    return same_name(name, "Readers") ? all_names(readers_choices) : std::vector<std::string>{};
}

bool ReaderOptions::set(std::string_view name, std::string_view value)
{
    return set_option(*this, reader_setters(), name, value);
}

std::vector<std::string> ReaderOptions::names()
{
    return names_of(reader_setters());
}

void check_options(const WriterOptions& options)
{
    const Layout& layout = layout_named(options.layout);
    require_known("Objects", options.objects.value_or(Objects::single), objects_choices);
    if (options.objects.value_or(Objects::single) != Objects::single && !layout.one_object_because.empty())
        throw Error(-DER_INVAL, "Objects=" + std::string(name_of(*options.objects)) +
                                    " does not go with Layout=" + std::string(layout.name) + ": " +
                                    std::string(layout.one_object_because));
    if (options.objects == Objects::per_machine && !layout.objects_of_machines)
        throw Error(-DER_INVAL, "Objects=per-machine does not go with Layout=" + std::string(layout.name) +
                                    ": it has no places for the ranks of a machine: take " +
                                    layouts_that(&Layout::objects_of_machines));
    if (options.ranks_per_object != 0 && options.objects && *options.objects != Objects::per_machine)
        throw Error(-DER_INVAL,
                    "RanksPerObject does not go with Objects=" + std::string(name_of(*options.objects)) +
                        ": it belongs to Objects=per-machine");
    require_known("Steps", options.step_mode.value_or(StepMode::extend), step_modes);
    if (options.step_mode == StepMode::snapshot) check_snapshots(layout, options);
    check_aggregators(layout, options);
    require_known("Durability", options.durability, durabilities);
    check_compression("Compression", options.compression);
    check_compression("MetadataCompression", {options.metadata_compression, 0});
    if (options.metadata_compression != CompressionMethod::none &&
        options.metadata_compression != CompressionMethod::zstd)
        throw Error(-DER_INVAL, "MetadataCompression='" + std::string(name_of(options.metadata_compression)) +
                                    "' compresses numbers only: valid are none, zstd");
    if (options.targets > 256)
        throw Error(-DER_INVAL, "Targets=" + std::to_string(options.targets) + ": valid are 1 to 256");
    if (!(options.writer_timeout >= 0 && options.writer_timeout <= longest_timeout))
        throw Error(-DER_INVAL, "WriterTimeoutSecs=" + std::to_string(options.writer_timeout) +
                                    ": valid are 0 to 1e6 seconds");
    if (options.chunk_size > most_chunk_size || options.data_chunk_size > most_chunk_size)
        throw Error(-DER_INVAL, "ChunkSize and DataChunkSize: give at most 1 TiB");
    if (options.chunk_size != 0 && options.chunk_size < layout.least_chunk_size)
        throw Error(-DER_INVAL, "ChunkSize=" + std::to_string(options.chunk_size) +
                                    ": with Layout=" + std::string(layout.name) + " give at least " +
                                    std::to_string(layout.least_chunk_size) + " bytes");
}

void check_options(const ReaderOptions& options)
{
    require_known("Readers", options.readers, readers_choices);
    if (!(options.poll_interval > 0))
        throw Error(-DER_INVAL, "the polling interval is not above 0 seconds: give a larger one");
    if (std::isnan(options.open_timeout))
        throw Error(-DER_INVAL, "the time-out for opening is not a number: give seconds");
}

} // namespace stepstore::steps

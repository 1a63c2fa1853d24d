// LOCATION: writes two steps with structs of all kinds of fields: an array in two blocks, local blocks,
// values.
#include "steps/write/writer.h"

#include <complex>
#include <cstdio>
#include <cstring>

using namespace stepstore;
using namespace stepstore::steps;

namespace {

struct Particle {
    std::int8_t charge;
    char tag;
    float place[3];
    std::complex<double> wave;
};

Particle particle(int number)
{
    Particle one;
    std::memset(static_cast<void*>(&one), 0, sizeof one);
    const auto real = static_cast<float>(number);
    one.charge = static_cast<std::int8_t>(number);
    one.tag = static_cast<char>('a' + number);
    for (int d = 0; d < 3; ++d)
        one.place[d] = real + 0.25F * static_cast<float>(d);
    one.wave = {real, -real};
    return one;
}

} // namespace

int main(int argc, char** argv)
{
    if (argc != 2) return 2;
    try {
        const auto structure = std::make_shared<const Structure>(
            Structure{"particle",
                      sizeof(Particle),
                      {{"charge", offsetof(Particle, charge), Type::int8, 1},
                       {"tag", offsetof(Particle, tag), Type::character, 1},
                       {"place", offsetof(Particle, place), Type::float32, 3},
                       {"x", offsetof(Particle, place), Type::float32, 1}, // overlaps
                       {"wave", offsetof(Particle, wave), Type::complex128, 1}}});
        const auto opaque = std::make_shared<const Structure>(Structure{"opaque", 3, {}});
        Writer writer(argv[1], {}, self_communicator());
        const auto define = [&](const char* name, ShapeKind kind, const auto& of) {
            return writer.define(name, Type::structure, kind, of);
        };
        const auto all = define("all", ShapeKind::global_array, structure);
        const auto local = define("local", ShapeKind::local_array, structure);
        const auto value = define("value", ShapeKind::global_value, structure);
        const auto own = define("own", ShapeKind::local_value, structure);
        const auto bytes = define("bytes", ShapeKind::local_array, opaque);
        const auto number = writer.define("number", Type::float64, ShapeKind::global_value);
        for (int step = 0; step < 2; ++step) {
            writer.begin_step();
            const Particle four[] = {particle(step), particle(step + 1), particle(step + 2),
                                     particle(step + 3)};
            for (std::uint64_t block = 0; block < 2; ++block)
                writer.put(all, Dims{2, 2}, Dims{block, 0}, Dims{1, 2}, four + 2 * block, Mode::sync);
            writer.put(local, {}, {}, Dims{3}, four, Mode::sync);
            writer.put_value(value, four + 3);
            writer.put_value(own, four);
            writer.put(bytes, {}, {}, Dims{2}, "abcdef", Mode::sync);
            const double plain = step;
            writer.put_value(number, &plain);
            writer.end_step();
        }
        writer.close();
        return 0;
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}

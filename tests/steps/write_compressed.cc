// LOCATION COMPRESSION METADATA_COMPRESSION: writes one step with a compressed and a plain array.
#include "steps/write/writer.h"

#include <cstdio>
#include <numeric>

using namespace stepstore;
using namespace stepstore::steps;

int main(int argc, char** argv)
{
    if (argc != 4) return 2;
    try {
        WriterOptions options;
        options.set("MetadataCompression", argv[3]);
        Writer writer(argv[1], options, self_communicator());
        std::vector<double> values(1000);
        std::iota(values.begin(), values.end(), 0.0);
        const Dims start{0}, count{values.size()};
        const auto squeezed = writer.define("squeezed", Type::float64, ShapeKind::global_array);
        const auto plain = writer.define("plain", Type::float64, ShapeKind::global_array);
        writer.compress(squeezed, {compression_method_named(argv[2]), 0});
        writer.begin_step();
        writer.put(squeezed, count, start, count, values.data());
        writer.put(plain, count, start, count, values.data());
        writer.close();
        return 0;
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}

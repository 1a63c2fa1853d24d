#include "other_parameters.h"

#include "base/text.h"

#include <algorithm>

namespace stepstore::adios {
namespace {

constexpr std::string_view in_the_pool = "data are written to and read from the location alone";

constexpr OtherParameter others[] = {
    // of BP
    {"AggregationRatio", {}},
    {"AggregationType", {}},
    {"AggregatorRatio", {}},
    {"AsyncOpen", {}},
    {"BufferChunkSize", {}},
    {"BufferGrowthFactor", {}},
    {"BufferVType", {}},
    {"BurstBufferDrain", {}},
    {"BurstBufferVerbose", {}},
    {"CollectiveMetadata", {}},
    {"DirectIO", {}},
    {"DirectIOAlignBuffer", {}},
    {"DirectIOAlignOffset", {}},
    {"EnableWriterRerouting", {}},
    {"FlushStepsCount", {}},
    {"GrowthFactor", {}},
    {"InitialBufferSize", {}},
    {"MaxBufferSize", {}},
    {"MaxOpenFilesAtOnce", {}},
    {"MaxShmSize", {}},
    {"MetadataThreads", {}},
    {"NumAggregators", {}},
    {"NumSubFiles", {}},
    {"OneLevelGatherRanksLimit", {}},
    {"ProfileUnits", {}},
    {"ReroutingThresholdFactor", {}},
    {"StatsBlockSize", {}},
    {"StripeSize", {}},
    {"Substreams", {}},
    {"Threads", {}},
    {"UseOneTimeAttributes", {}},
    {"UseSelectiveMetadataAggregation", {}},
    // of SST
    {"CompressionMethod", {}},
    {"ControlInterface", {}},
    {"ControlModule", {}},
    {"ControlTransport", {}},
    {"CPCommPattern", {}},
    {"DataInterface", {}},
    {"DataTransport", {}},
    {"FirstTimestepPrecious", {}},
    {"IsRowMajor", {}},
    {"MarshalMethod", {}},
    {"NetworkInterface", {}},
    {"PreloadMode", {}},
    {"QueueFullPolicy", {}},
    {"QueueLimit", {}},
    {"RegistrationMethod", {}},
    {"RemoteGroup", {}},
    {"RendezvousReaderCount", {}},
    {"ReserveQueueLimit", {}},
    {"SpecAutoNodeThreshold", {}},
    {"SpeculativePreloadMode", {}},
    {"WANDataTransport", {}},
    // of both, that change what is stored or read, or where
    {"AlwaysProvideLatestTimestep", "a reader gets every step, in order"},
    {"StepDistributionMode", "every reader gets every step"},
    {"IgnoreFlattenSteps", "what was written with FlattenSteps is one step"},
    {"BurstBufferPath", in_the_pool},
    {"DataFileTransport", in_the_pool},
    {"NodeLocal", in_the_pool},
    {"node-local", in_the_pool},
    {"RemoteDataPath", in_the_pool},
    {"RemoteHost", in_the_pool},
    {"S3AccessKeyID", in_the_pool},
    {"S3Bucket", in_the_pool},
    {"S3DirectUploadThreshold", in_the_pool},
    {"S3Endpoint", in_the_pool},
    {"S3ObjectMode", in_the_pool},
    {"S3SecretKey", in_the_pool},
    {"S3SessionToken", in_the_pool},
    {"TarInfo", in_the_pool},
    {"UUID", "a stream is identified by its location"},
};

} // namespace

const OtherParameter* other_parameter(std::string_view name)
{
    const auto* found =
        std::ranges::find_if(others, [&](const OtherParameter& one) { return same_name(one.name, name); });
    return found == std::end(others) ? nullptr : found;
}

} // namespace stepstore::adios

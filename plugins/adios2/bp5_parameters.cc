#include "bp5_parameters.h"

#include "base/text.h"

#include <algorithm>

namespace stepstore::adios {
namespace {

constexpr std::string_view tuning[] = {
    "AggregationRatio",
    "AggregationType",
    "AggregatorRatio",
    "AsyncOpen",
    "AsyncWrite",
    "BufferChunkSize",
    "BufferVType",
    "CollectiveMetadata",
    "DirectIO",
    "DirectIOAlignBuffer",
    "DirectIOAlignOffset",
    "EnableWriterRerouting",
    "FlushStepsCount",
    "GrowthFactor",
    "InitialBufferSize",
    "MaxBufferSize",
    "MaxOpenFilesAtOnce",
    "MaxShmSize",
    "MetadataThreads",
    "NumAggregators",
    "NumSubFiles",
    "OneLevelGatherRanksLimit",
    "ProfileUnits",
    "ReroutingThresholdFactor",
    "StatsBlockSize",
    "StripeSize",
    "Substreams",
    "Threads",
    "UseOneTimeAttributes",
    "UseSelectiveMetadataAggregation",
};

constexpr std::string_view refused[] = {
    "BurstBufferDrain",  "BurstBufferPath", "BurstBufferVerbose",
    "DataFileTransport", "FlattenSteps",    "IgnoreFlattenSteps",
    "NodeLocal",         "RemoteDataPath",  "RemoteHost",
    "S3AccessKeyID",     "S3Bucket",        "S3DirectUploadThreshold",
    "S3Endpoint",        "S3ObjectMode",    "S3SecretKey",
    "S3SessionToken",    "TarInfo",         "UUID",
};

} // namespace

BpParameter bp_parameter(std::string_view name)
{
    const auto is_it = [&](std::string_view known) { return same_name(known, name); };
    if (std::ranges::any_of(tuning, is_it)) return BpParameter::tuning;
    if (std::ranges::any_of(refused, is_it)) return BpParameter::refused;
    return BpParameter::no;
}

} // namespace stepstore::adios

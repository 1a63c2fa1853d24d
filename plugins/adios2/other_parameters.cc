#include "other_parameters.h"

#include "base/text.h"

#include <algorithm>

namespace stepstore::adios {
namespace {

constexpr std::string_view tuning[] = {
    // of BP
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
    // of SST
    "CompressionMethod",
    "ControlInterface",
    "ControlModule",
    "ControlTransport",
    "CPCommPattern",
    "DataInterface",
    "DataTransport",
    "FirstTimestepPrecious",
    "MarshalMethod",
    "NetworkInterface",
    "PreloadMode",
    "QueueFullPolicy",
    "QueueLimit",
    "RegistrationMethod",
    "RendezvousReaderCount",
    "ReserveQueueLimit",
    "SpecAutoNodeThreshold",
    "SpeculativePreloadMode",
    "WANDataTransport",
};

constexpr std::string_view refused[] = {
    "AlwaysProvideLatestTimestep",
    "StepDistributionMode",
    "BurstBufferDrain",
    "BurstBufferPath",
    "BurstBufferVerbose",
    "DataFileTransport",
    "IgnoreFlattenSteps",
    "NodeLocal",
    "RemoteDataPath",
    "RemoteHost",
    "S3AccessKeyID",
    "S3Bucket",
    "S3DirectUploadThreshold",
    "S3Endpoint",
    "S3ObjectMode",
    "S3SecretKey",
    "S3SessionToken",
    "TarInfo",
    "UUID",
};

} // namespace

OtherParameter other_parameter(std::string_view name)
{
    const auto is_it = [&](std::string_view known) { return same_name(known, name); };
    if (std::ranges::any_of(tuning, is_it)) return OtherParameter::tuning;
    if (std::ranges::any_of(refused, is_it)) return OtherParameter::refused;
    return OtherParameter::no;
}

} // namespace stepstore::adios

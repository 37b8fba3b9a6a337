// The handlers that Routes() names, by noun. Each is one request; see service.h for the frame.
#pragma once

#include "rest/service.h"

namespace ferry::rest {

#define FERRY_HANDLER(name) void name(const Parts& parts, Call call, http::Responder responder)

// admin.cc
FERRY_HANDLER(Health);
FERRY_HANDLER(Portal);
FERRY_HANDLER(Prometheus);
FERRY_HANDLER(Version);
FERRY_HANDLER(ShutDown);
FERRY_HANDLER(ListWorkspaces);
FERRY_HANDLER(AddWorkspace);
FERRY_HANDLER(ShowWorkspace);
FERRY_HANDLER(ListExperiments);
FERRY_HANDLER(AddExperiment);
FERRY_HANDLER(ShowExperiment);
FERRY_HANDLER(ListNodes);
FERRY_HANDLER(ListUsers);
FERRY_HANDLER(AddUser);
FERRY_HANDLER(RemoveUser);
FERRY_HANDLER(ListTokens);
FERRY_HANDLER(AddToken);
FERRY_HANDLER(RevokeToken);
// runs.cc
FERRY_HANDLER(SubmitRun);
FERRY_HANDLER(ListRuns);
FERRY_HANDLER(ShowRun);
FERRY_HANDLER(UpdateRun);
FERRY_HANDLER(CancelRun);
FERRY_HANDLER(EvictRun);
FERRY_HANDLER(ExplainRun);
// logs.cc
FERRY_HANDLER(FollowRuns);
FERRY_HANDLER(FollowRun);
FERRY_HANDLER(ListLogs);
FERRY_HANDLER(ReadLog);
// metrics.cc
FERRY_HANDLER(ListMetrics);
FERRY_HANDLER(ReadMetric);
FERRY_HANDLER(AddMetrics);
// blobs.cc
FERRY_HANDLER(ListArtifacts);
FERRY_HANDLER(ReadArtifact);
FERRY_HANDLER(MissingBlobs);
FERRY_HANDLER(FetchBlobs);
FERRY_HANDLER(ReadBlob);
FERRY_HANDLER(PartialBlob);
FERRY_HANDLER(FinishBlob);
std::unique_ptr<http::BodySink> PackBlobs(const Parts& parts, const Call& call);
std::unique_ptr<http::BodySink> AddBlobPart(const Parts& parts, const Call& call);
// agents.cc
FERRY_HANDLER(AgentCommands);
FERRY_HANDLER(AgentHello);
FERRY_HANDLER(AgentReport);

#undef FERRY_HANDLER

// The searchable summaries of a run's metrics, as the engine keeps them.
std::vector<store::Attribute> MetricAttributes(const std::vector<series::Summary>& summaries);
// A record that a script logged, as a batch of points; nothing when it is no metric. kInvalid names the field.
Result<std::optional<series::Batch>> BatchFromRecord(const std::string& run, const Json& record, Time now);

}  // namespace ferry::rest

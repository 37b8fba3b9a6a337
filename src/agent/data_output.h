// One data output: from a folder that a script has filled to its datastore.
#pragma once

#include <string>
#include <vector>

#include "agent/data_job.h"

namespace ferry::agent {

// Brings the files at `root`, a folder or one file, to the output's datastore. Links are followed into `roots` alone. Safe to repeat.
Result<model::DataUse> UploadOutput(const DataJob& job, const std::string& name, const model::DataOutput& output, const std::string& root,
                                    const std::vector<std::string>& roots);

}  // namespace ferry::agent

// One data input: from what it names to files on this node.
#pragma once

#include <string>
#include <vector>

#include "agent/data_job.h"

namespace ferry::agent {

// Makes the input's files, or links to them, at `root`, which is removed first. The use's path is that of a single file, else `root`. `linked` gets what of
// this machine's datastores it is linked to.
Result<model::DataUse> StageInput(const DataJob& job, const std::string& name, const model::DataInput& input, const std::string& root,
                                  std::vector<std::string>& linked);

// "path 'a/b' of datastore 'd'", or the address.
std::string WhatOf(const model::DataPath& path);

}  // namespace ferry::agent

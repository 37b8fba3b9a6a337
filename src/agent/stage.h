// The data of an attempt: what is there before its script begins, and what goes to datastores when it has ended. Everything but the web comes from the
// server and goes to it: a node never opens a datastore.
//
// In the attempt's folder:
//   data/NAME        an input's files, a link to them, or an output's folder
//   data_log.txt     what was done, with sizes
//   links.json       links to the above that were made outside of it
//   linked.json      what of this machine's datastores the inputs are linked to
//   uploaded.json    outputs that are at their datastore
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/data_job.h"
#include "agent/folder.h"
#include "base/result.h"
#include "http/client.h"
#include "model/message.h"

namespace ferry::agent {

// What the script gets to see.
struct Staged {
  std::map<std::string, std::string> values;     // what stands for a name in arguments: a path, or the id of a dataset
  std::map<std::string, std::string> variables;  // of its environment
  std::vector<std::string> folders;              // that a container needs too, under the same path
  std::vector<std::string> collected;            // folders below the working folder that are read when it has ended
  std::vector<model::DataUse> uses;
};

class Stager {
 public:
  Stager(std::string home, std::function<http::ClientSettings()> server) : home_(std::move(home)), server_(std::move(server)) {}

  // Stages every input and makes every output's folder; what an earlier agent began is made anew. While the server cannot be reached it waits.
  // REQUIRES: the working copy is there. Safe from several threads. An error names input, datastore and path.
  Result<Staged> Stage(const model::Assign& assign, const StageWatch& watch) const;

  // Brings every output to its datastore. Safe to repeat: what is there already with the same content is not sent again. While the server cannot be
  // reached it waits; kCanceled when it was stopped. Any other error is for good and names output, datastore and path.
  Result<std::vector<model::DataUse>> Upload(const model::Assign& assign, const StageWatch& watch) const;

  // Removes the links that were made outside of the attempt's folder.
  static void Unstage(const AttemptFolder& folder);

 private:
  const std::string home_;
  const std::function<http::ClientSettings()> server_;
};

}  // namespace ferry::agent

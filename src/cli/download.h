// Bringing files of the server here.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cli/context.h"

namespace ferry::cli {

// Where files come from: a list of {"path", "size", "digest"?} in pages, and one file by its path.
struct Download {
  std::string list;                                             // the route of the list
  const char* key;                                              // the list's name in its answer
  std::string files;                                            // the route of the files, without the slash
  std::vector<std::pair<std::string, std::string>> parameters;  // of the list; "workspace" and "version" go to the files, too
  bool overwrite = true;                                        // whether a file of another content may be replaced
  bool progress = true;
};
// Writes every file of the list below the folder, beside its place first; what is there already and the same is not fetched. Nothing is written
// outside the folder. Returns [{"path", "file", "size", "fetched"}]. kInvalid "download.path"; kConflict "download.exists".
Result<Json> DownloadAll(Context& context, Session& session, const Download& what, const std::string& folder);
// Appends what is new of a run's log streams that begin with `prefix` to the files of their names below the folder.
Result<void> DownloadStreams(Session& session, const std::string& run, std::string_view prefix, const std::string& folder);
// "3 files in FOLDER (1.2 MB fetched)\n".
std::string DownloadedText(const Json& files, const std::string& folder);

}  // namespace ferry::cli

// A datastore that is a bucket, or a prefix in one, of a service that speaks S3's protocol: path-style addresses, Signature Version 4.
#pragma once

#include <memory>
#include <string>

#include "data/file_store.h"

namespace ferry::data {

struct S3Settings {
  std::string endpoint;  // "https://host:port"
  std::string bucket;
  std::string prefix;  // without a '/' at its ends
  std::string region;
  std::string access_key;  // empty: nothing is signed
  std::string secret_key;
  std::string scratch;  // a folder for files that are on their way; made when needed
};
// Asks nobody yet. Errors of the service: kForbidden "s3.denied", kNotFound "s3.bucket", kUnavailable "s3.unreachable" (it may work later; it was tried a few
// times), kInvalid "s3.refused" for anything else, each with what the service said. Whether a file is there is asked before it is written: S3 itself does
// not stop two who write the same file at once.
std::unique_ptr<FileStore> OpenS3Store(S3Settings settings);

}  // namespace ferry::data

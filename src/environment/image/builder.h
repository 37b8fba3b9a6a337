// Environments that are images: a base image, a Dockerfile or a build context, with a Python layer on top where there is a specification.
#pragma once

#include "environment/builder.h"
#include "environment/image/engine.h"

namespace ferry::environment {

// "localhost/ferry/" and the beginning of the build's key: the image of an environment, also when its folder is gone.
std::string ImageName(const std::string& key);

// Safe from several threads for different keys.
class ImageBuilder : public Builder {
 public:
  explicit ImageBuilder(Settings settings) : settings_(std::move(settings)) {}
  // The image keeps the name of its key, and nothing else of a build that failed or was stopped is left with the engine but cached layers.
  Result<Ready> Build(const Job& job) override;
  // Always kInvalid: an image is built where it runs.
  Result<void> Relocate(const Ready& ready, const std::string& before) override;

 private:
  Settings settings_;
};

}  // namespace ferry::environment

#include "environment/pip_settings.h"

#include <vector>

#include "base/text.h"
#include "os/file.h"

namespace ferry::environment {
namespace {

std::string Get(const std::map<std::string, std::string>& variables, const std::string& name) {
  auto it = variables.find(name);
  return it == variables.end() ? "" : it->second;
}

}  // namespace

std::map<std::string, std::string> ParsePipConf(std::string_view text) {
  std::map<std::string, std::string> out;
  bool ours = false;
  std::string key;
  for (std::string_view line : Split(text, '\n')) {
    std::string_view trimmed = Trim(line);
    if (trimmed.empty() || trimmed[0] == '#' || trimmed[0] == ';') continue;
    if (trimmed[0] == '[') {
      ours = trimmed == "[global]" || trimmed == "[install]";
      key.clear();
      continue;
    }
    if (!ours) continue;
    bool indented = line[0] == ' ' || line[0] == '\t';
    if (indented && !key.empty()) {
      out[key] += StrCat(out[key].empty() ? "" : " ", trimmed);
      continue;
    }
    size_t equals = trimmed.find_first_of("=:");
    if (equals == std::string_view::npos) continue;
    key = ToLower(Trim(trimmed.substr(0, equals)));
    out[key] = Trim(trimmed.substr(equals + 1));
  }
  return out;
}

std::map<std::string, std::string> UvVariables(const std::map<std::string, std::string>& variables) {
  std::map<std::string, std::string> pip;
  std::string home = Get(variables, "HOME"), config = Get(variables, "XDG_CONFIG_HOME");
  std::vector<std::string> files = {"/etc/pip.conf", "/etc/xdg/pip/pip.conf"};
  if (!home.empty()) files.push_back(home + "/.pip/pip.conf");
  if (!home.empty() || !config.empty()) files.push_back((config.empty() ? home + "/.config" : config) + "/pip/pip.conf");
  if (std::string own = Get(variables, "PIP_CONFIG_FILE"); !own.empty()) files.push_back(own);
  for (const std::string& file : files)
    if (auto text = os::ReadFile(file, 1u << 20); text.ok())
      for (auto& [key, value] : ParsePipConf(*text)) pip[key] = value;
  for (const char* key : {"index-url", "extra-index-url", "find-links", "cert", "no-index"}) {
    std::string name = "PIP_";
    for (const char* c = key; *c; ++c) name += *c == '-' ? '_' : static_cast<char>(*c - 'a' + 'A');
    if (std::string value = Get(variables, name); !value.empty()) pip[key] = value;
  }

  std::map<std::string, std::string> out;
  auto set = [&](const char* name, const std::string& value) {
    if (!value.empty() && Get(variables, name).empty()) out[name] = value;
  };
  bool index_given = !Get(variables, "UV_INDEX_URL").empty() || !Get(variables, "UV_DEFAULT_INDEX").empty();
  if (!index_given) set("UV_DEFAULT_INDEX", pip["index-url"]);
  if (!pip["extra-index-url"].empty() && Get(variables, "UV_INDEX").empty() && Get(variables, "UV_EXTRA_INDEX_URL").empty()) {
    set("UV_EXTRA_INDEX_URL", pip["extra-index-url"]);
    set("UV_INDEX_STRATEGY", "unsafe-best-match");
  }
  std::string links;
  for (std::string_view link : Split(pip["find-links"], ' '))
    if (!link.empty() && (link.find("://") != std::string_view::npos || os::Exists(std::string(link)))) links += StrCat(links.empty() ? "" : ",", link);
  set("UV_FIND_LINKS", links);
  set("SSL_CERT_FILE", pip["cert"]);
  return out;
}

}  // namespace ferry::environment

#include "environment/image/layer.h"

#include "base/hash.h"
#include "base/text.h"
#include "environment/choose.h"
#include "environment/conda_spec.h"
#include "environment/pip_settings.h"
#include "environment/requirement.h"
#include "os/file.h"

namespace ferry::environment {
namespace {

// Runs inside the image, in the folder that WriteLayer filled.
constexpr std::string_view kScript = R"sh(set -eu
cd /ferry
. ./environment
target=/opt/ferry/venv
say() { echo "ferry: $*"; }
fail() { echo "ferry-error: $*"; exit 3; }
mkdir -p "${target%/*}"

# The first Python of the image that meets the pin.
python= seen= pin=$(cat pins | tr '\n' ' ')
for name in python3 python $(cat versions) /opt/miniconda/bin/python /opt/conda/bin/python; do
  path=$(command -v "$name" 2>/dev/null) || continue
  version=$("$path" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null) || continue
  if "$path" pin.py < pins; then python=$path; break; fi
  case "$seen" in *"$version"*) ;; *) seen="$seen${seen:+, }Python $version" ;; esac
done

if [ -s only-conda ] || [ -z "$python" ]; then
  conda=
  for name in micromamba mamba conda /opt/miniconda/bin/conda /opt/conda/bin/conda /opt/miniconda3/bin/conda; do
    if conda=$(command -v "$name" 2>/dev/null); then break; fi
  done
  if [ -n "$conda" ]; then
    say "the image's $conda makes the environment"
    case "$conda" in
      *micromamba) "$conda" create --yes --prefix "$target" --file conda.yml ;;
      *) "$conda" env create --prefix "$target" --file conda.yml ;;
    esac
    exit 0
  fi
  if [ -s only-conda ]; then
    fail "$(head -n 1 only-conda) is a conda package, and the image has no conda, mamba or micromamba; take an image that has one, or name the package under pip"
  fi
  if [ -z "$seen" ]; then fail "the image has no python3; take an image with Python, or set userManagedDependencies"; fi
  fail "the specification asks for python $pin, and the image has $seen and no conda to get another; take an image with that Python, or change the pin"
fi

say "$("$python" --version 2>&1) of the image at $python"
if "$python" -m venv "$target" > /tmp/ferry-venv.log 2>&1; then
  rm -f /tmp/ferry-venv.log
else
  rm -rf "$target" /tmp/ferry-venv.log
  "$python" -m venv --without-pip "$target" || fail "the image's Python has no module venv; install it in the image (on Debian: python3-venv)"
fi
pip() { "$target/bin/python" -m pip install --no-input --progress-bar off "$@"; }
if ! "$target/bin/python" -m pip --version > /dev/null 2>&1; then
  wheel=$(ls /ferry/pip-*.whl 2>/dev/null | head -n 1)
  [ -n "$wheel" ] || fail "the image's Python has no pip, and the node has none to lend; install it in the image (on Debian: python3-venv)"
  say "the image has no pip; the node's $(basename "$wheel") is lent"
  PYTHONPATH=$wheel pip "$wheel"
fi
if [ -s tools ]; then pip -r tools; fi
if [ -s requirements.txt ]; then pip $(cat options) -r requirements.txt; fi
)sh";

// Status 0 when this Python meets every constraint on standard input, in conda's notation.
constexpr std::string_view kPin = R"py(import sys

def numbers(text):
    out = []
    for part in text.split("."):
        digits = "".join(c for c in part if c.isdigit())
        if not digits:
            break
        out.append(int(digits))
    return out

def compare(have, want):
    size = max(len(have), len(want))
    a, b = have + [0] * (size - len(have)), want + [0] * (size - len(want))
    return (a > b) - (a < b)

def meets(have, clause):
    for sign in ("==", ">=", "<=", "!=", "~=", ">", "<", "="):
        if clause.startswith(sign):
            break
    else:
        sign = ""
    text = clause[len(sign):].strip()
    if text in ("", "*"):
        return True
    want = numbers(text.replace("*", ""))
    prefix = have[:len(want)] == want
    if sign in ("", "="):
        return prefix
    if sign == "==":
        return prefix if text.endswith("*") else compare(have, want) == 0
    if sign == "!=":
        return not (prefix if text.endswith("*") else compare(have, want) == 0)
    if sign == "~=":
        return compare(have, want) >= 0 and have[:len(want) - 1] == want[:-1]
    return {">=": compare(have, want) >= 0, "<=": compare(have, want) <= 0, ">": compare(have, want) > 0, "<": compare(have, want) < 0}[sign]

have = list(sys.version_info[:3])
good = have[0] >= 3
for line in sys.stdin:
    if line.strip():
        good = good and any(all(meets(have, c.strip()) for c in way.split(",")) for way in line.split("|"))
sys.exit(0 if good else 1)
)py";

std::string Quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string Lines(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += StrCat(line, "\n");
  return out;
}

Result<LayerPlan> PlanFromLock(const model::Environment& definition) {
  TRY(model::Lock lock, model::LockFromJson(definition.lock));
  LayerPlan plan;
  plan.exact = true;
  if (!lock.python.empty()) plan.pins.push_back(StrCat("==", lock.python));
  Json conda = Json::MakeArray(), pip = Json::MakeArray();
  TRY(std::vector<Requirement> lines, ParseRequirements(definition.conda.pip));
  for (const Requirement& line : lines)
    if (line.kind == Requirement::Kind::kOption && line.option != "--require-hashes") plan.requirements.push_back(line.text);
  size_t options = plan.requirements.size();
  for (const model::LockedPackage& package : lock.packages) {
    if (IsAzureml(model::NormalPackageName(package.name))) continue;
    if (package.source == "conda") {
      conda.Push(StrCat(package.name, "=", package.version, package.build.empty() ? "" : "=", package.build));
      plan.only_conda.push_back(package.name);
    } else if (package.source == "pypi") {
      plan.requirements.push_back(StrCat(package.name, "==", package.version));
      pip.Push(plan.requirements.back());
    }
  }
  if (plan.requirements.size() == options && plan.only_conda.empty()) return LayerPlan{};
  if (!pip.as_array().empty()) conda.Push(Json::MakeObject({{"pip", std::move(pip)}}));
  plan.conda = Json::MakeObject({{"channels", definition.conda.channels}, {"dependencies", std::move(conda)}});
  return plan;
}

}  // namespace

Result<LayerPlan> PlanLayer(const model::Environment& definition) {
  if (definition.user_managed) return LayerPlan{};
  if (!definition.lock.is_null()) return PlanFromLock(definition);
  LayerPlan plan;
  TRY(PythonPin pin, FindPythonPin(definition));
  TRY(std::vector<Requirement> requirements, ParseRequirements(definition.conda.pip));
  if (!pin.clauses.empty()) plan.pins.push_back(pin.clauses);
  std::vector<std::string> ours;
  Json conda = Json::MakeArray(), pip = Json::MakeArray();
  if (pin.line) conda.Push(pin.text);
  for (const std::string& line : pin.conda_only) {
    auto spec = ParseCondaSpec(line);
    if (spec.ok() && IsAzureml(spec->name)) {
      ours.push_back(spec->name);
      continue;
    }
    plan.only_conda.push_back(line);
    conda.Push(line);
  }
  bool packages = false;
  for (const Requirement& requirement : requirements) {
    using Kind = Requirement::Kind;
    if (requirement.kind == Kind::kPath || requirement.kind == Kind::kEditable || requirement.kind == Kind::kFile || requirement.kind == Kind::kConstraints)
      return MakeError(
          Code::kInvalid, "environment.requirement",
          StrCat(NameLine("pip", requirement.line, requirement.text), ": a path of this node is not in an image; name the package by an address or an index"),
          StrCat("pip line ", requirement.line));
    if (IsAzureml(requirement.name)) {
      ours.push_back(requirement.name);
      continue;
    }
    plan.requirements.push_back(requirement.text);
    pip.Push(requirement.text);
    packages = packages || requirement.kind != Kind::kOption;
  }
  // Options alone install nothing.
  if (!packages) {
    plan.requirements.clear();
    pip = Json::MakeArray();
  }
  // A bare "pip" asks for nothing that is not there anyway.
  if (!pin.pip.empty() && pin.pip != "pip") plan.tools.push_back(pin.pip);
  if (!pin.pip.empty() || !pip.as_array().empty()) conda.Push(pin.pip.empty() ? "pip" : pin.pip);
  if (!pip.as_array().empty()) conda.Push(Json::MakeObject({{"pip", std::move(pip)}}));
  plan.conda = Json::MakeObject({{"channels", definition.conda.channels}, {"dependencies", std::move(conda)}});
  for (const std::string& name : ours) plan.notes.push_back(StrCat("'", name, "' is provided by Ferry's own azureml package, mounted when a script runs"));
  return plan;
}

std::map<std::string, std::string> PipVariables(const std::vector<std::string>& configurations, const std::map<std::string, std::string>& environment) {
  static constexpr std::pair<const char*, const char*> kOptions[] = {{"index-url", "PIP_INDEX_URL"},
                                                                     {"extra-index-url", "PIP_EXTRA_INDEX_URL"},
                                                                     {"trusted-host", "PIP_TRUSTED_HOST"},
                                                                     {"no-index", "PIP_NO_INDEX"},
                                                                     {"find-links", "PIP_FIND_LINKS"},
                                                                     {"timeout", "PIP_DEFAULT_TIMEOUT"},
                                                                     {"retries", "PIP_RETRIES"},
                                                                     {"proxy", "PIP_PROXY"},
                                                                     {"cert", "PIP_CERT"}};
  std::map<std::string, std::string> out;
  for (const std::string& text : configurations) {
    auto found = ParsePipConf(text);
    for (const auto& [option, variable] : kOptions)
      if (auto it = found.find(option); it != found.end()) out[variable] = it->second;
  }
  for (const auto& [option, variable] : kOptions)
    if (auto it = environment.find(variable); it != environment.end()) out[it->first] = it->second;
  for (const char* name : {"http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"})
    if (auto it = environment.find(name); it != environment.end()) out[name] = it->second;
  // A folder of this node is not in the image.
  if (auto it = out.find("PIP_FIND_LINKS"); it != out.end()) {
    std::string kept;
    for (std::string_view link : Split(it->second, ' '))
      if (link.find("://") != std::string_view::npos && !link.starts_with("file:")) kept += StrCat(kept.empty() ? "" : " ", link);
    it->second = kept;
  }
  std::erase_if(out, [](const auto& item) { return item.second.empty(); });
  return out;
}

Result<void> WriteLayer(const LayerPlan& plan, const std::string& folder, const std::string& base, const std::map<std::string, std::string>& pip_variables,
                        const std::string& pip, const std::string& certificates) {
  TRY_VOID(os::MakeFolders(folder, 0700));
  std::map<std::string, std::string> files;
  files["layer.sh"] = kScript;
  files["pin.py"] = kPin;
  files["pins"] = Lines(plan.pins);
  // "python3.8" may be there beside another python3.
  std::string versions;
  for (const std::string& pin : plan.pins) {
    size_t begin = pin.find_first_of("0123456789");
    size_t dot = pin.find('.', begin);
    if (begin == std::string::npos || dot == std::string::npos) continue;
    size_t end = std::min(pin.find_first_not_of("0123456789", dot + 1), pin.size());
    if (end > dot + 1) versions += StrCat("python", pin.substr(begin, end - begin), "\n");
  }
  files["versions"] = versions;
  files["only-conda"] = Lines(plan.only_conda);
  files["tools"] = Lines(plan.tools);
  files["requirements.txt"] = Lines(plan.requirements);
  files["options"] = plan.exact ? "--no-deps\n" : "";
  files["conda.yml"] = plan.conda.is_null() ? "{}" : plan.conda.Dump();
  std::string content;
  for (const auto& [name, text] : files) content += StrCat(name, "\n", text.size(), "\n", text);
  std::string environment = "export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_NO_CACHE_DIR=1\n";
  for (const auto& [name, value] : pip_variables)
    if (name != "PIP_CERT") environment += StrCat("export ", name, "=", Quoted(value), "\n");
  if (!certificates.empty()) {
    TRY(std::string bytes, os::ReadFile(certificates, 16u << 20));
    TRY_VOID(os::WriteFile(os::JoinPath(folder, "certificates.pem"), bytes));
    for (const char* name : {"PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"}) environment += StrCat("export ", name, "=/ferry/certificates.pem\n");
  }
  // An index's address may have a password in it.
  TRY_VOID(os::WriteFile(os::JoinPath(folder, "environment"), environment, 0600));
  if (!pip.empty()) {
    TRY(std::string bytes, os::ReadFile(pip, 64u << 20));
    TRY_VOID(os::WriteFile(os::JoinPath(folder, pip.substr(pip.rfind('/') + 1)), bytes));
  }
  // The engine knows a step again by its text, so the text says what is in the files.
  std::string hash = HashBytes(content).Hex().substr(0, 16);
  files["Dockerfile"] =
      StrCat("FROM ", base, "\nUSER root\nRUN --mount=type=bind,source=.,target=/ferry sh /ferry/layer.sh ", hash, "\nENV PATH=", kLayerFolder,
             "/bin:${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin} AZUREML_ENVIRONMENT_IMAGE=True\n");
  for (const auto& [name, text] : files) TRY_VOID(os::WriteFile(os::JoinPath(folder, name), text));
  return {};
}

std::string LayerError(const std::vector<std::string>& last_lines) {
  for (auto line = last_lines.rbegin(); line != last_lines.rend(); ++line)
    if (size_t at = line->find("ferry-error: "); at != std::string::npos) return line->substr(at + 13);
  return {};
}

}  // namespace ferry::environment

#include "server/settings.h"

#include "base/text.h"
#include "os/file.h"
#include "os/process.h"

namespace ferry::server {

const std::vector<SettingRow>& SettingTable() {
  static const std::vector<SettingRow> table = {
      {"home", SettingType::kText, "", 0, 0, "The data folder; ~/.ferry when empty."},
      {"address", SettingType::kText, "127.0.0.1", 0, 0, "The address to listen on; anything but loopback needs TLS."},
      {"port", SettingType::kInt, "0", 0, 65535, "The port to listen on; 0 takes the one used last, or a free one."},
      {"tls-certificate", SettingType::kText, "", 0, 0, "A PEM file with the certificate chain; turns TLS on."},
      {"tls-key", SettingType::kText, "", 0, 0, "A PEM file with the private key of the certificate."},
      {"allow-insecure", SettingType::kBool, "false", 0, 0, "Serve an address that is not loopback without TLS."},
      {"slots", SettingType::kInt, "0", 0, 10000, "Runs at once on the local target; 0 takes the number of cores."},
      {"node-grace-seconds", SettingType::kInt, "300", 5, 86400, "How long a node with work may be out of sight before it is given up on."},
      {"agent", SettingType::kBool, "true", 0, 0, "Run an agent for the local target beside the server."},
      {"environment-cache-gb", SettingType::kInt, "100", 0, 1000000, "Environments kept on the local node, least recently used removed first; 0 keeps all."},
      {"environment-cache-days", SettingType::kInt, "180", 0, 36500, "Days after its last use until an environment is removed; 0 keeps all."},
      {"conda-strict", SettingType::kBool, "false", 0, 0, "Never build a conda specification from PyPI when no channel answers."},
      {"container-engine", SettingType::kText, "", 0, 0, "podman, docker or a path; the first that is found when empty."},
      {"image-aliases", SettingType::kText, "", 0, 0,
       "Images that stand for others, as 'name=other' with commas between; 'recipe:NAME' builds one of Ferry's own."},
      {"threads", SettingType::kInt, "2", 1, 64, "Threads that serve requests."},
      {"log-level", SettingType::kText, "info", 0, 0, "debug, info, warning or error."},
  };
  return table;
}

std::string DefaultHome() {
  if (auto home = os::GetEnv("FERRY_HOME"); home && !home->empty()) return *home;
  return os::JoinPath(os::HomeFolder(), ".ferry");
}

namespace {

std::string VariableName(std::string_view name) {
  std::string out = "FERRY_";
  for (char c : name) out += c == '-' ? '_' : static_cast<char>(toupper(c));
  return out;
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const SettingRow& row : SettingTable()) names.push_back(row.name);
  return names;
}

const SettingRow* Find(std::string_view name) {
  for (const SettingRow& row : SettingTable())
    if (name == row.name) return &row;
  return nullptr;
}

// `where` names the flag, the variable or file and line.
Result<void> Check(const SettingRow& row, const std::string& value, const std::string& where) {
  if (row.type == SettingType::kInt) {
    auto number = ParseInt(value);
    if (!number || *number < row.low || *number > row.high)
      return MakeError(Code::kInvalid, "setting.invalid", StrCat(where, ": expected a whole number from ", row.low, " to ", row.high, ", found '", value, "'"),
                       row.name);
  }
  if (row.type == SettingType::kBool && value != "true" && value != "false")
    return MakeError(Code::kInvalid, "setting.invalid", StrCat(where, ": expected true or false, found '", value, "'"), row.name);
  if (std::string_view(row.name) == "log-level" && value != "debug" && value != "info" && value != "warning" && value != "error")
    return MakeError(Code::kInvalid, "setting.invalid", StrCat(where, ": expected debug, info, warning or error, found '", value, "'"), row.name);
  return {};
}

Error Unknown(std::string_view name, const std::string& where) {
  auto close = ClosestWord(name, Names());
  return MakeError(Code::kInvalid, "setting.unknown",
                   StrCat(where, ": there is no setting '", name, "'", close ? StrCat("; did you mean '", *close, "'?") : std::string()), std::string(name));
}

Result<void> ReadFile(const std::string& path, std::map<std::string, std::string>& values) {
  auto text = os::ReadFile(path, 1u << 20);
  if (!text.ok()) return text.error().code == Code::kNotFound ? Result<void>() : Result<void>(text.error());
  size_t line_number = 0;
  for (std::string_view line : Split(*text, '\n')) {
    ++line_number;
    line = Trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    std::string where = StrCat(path, ":", line_number);
    size_t equals = line.find('=');
    if (equals == std::string_view::npos)
      return MakeError(Code::kInvalid, "setting.syntax", StrCat(where, ": expected 'name = value', found '", line.substr(0, 60), "'"), where);
    std::string name(Trim(line.substr(0, equals))), value(Trim(line.substr(equals + 1)));
    const SettingRow* row = Find(name);
    if (!row) return Unknown(name, where);
    TRY_VOID(Check(*row, value, where));
    values[name] = value;
  }
  return {};
}

}  // namespace

Result<Settings> ReadSettings(const std::vector<std::string>& flags) {
  std::map<std::string, std::string> given;
  for (size_t i = 0; i < flags.size(); ++i) {
    const std::string& flag = flags[i];
    if (flag.compare(0, 2, "--") != 0)
      return MakeError(Code::kInvalid, "setting.syntax", StrCat("expected a flag such as --port 8472, found '", flag, "'"), flag);
    size_t equals = flag.find('=');
    std::string name = flag.substr(2, equals == std::string::npos ? std::string::npos : equals - 2);
    const SettingRow* row = Find(name);
    if (!row) return Unknown(name, StrCat("--", name));
    std::string value;
    if (equals != std::string::npos) {
      value = flag.substr(equals + 1);
    } else if (row->type == SettingType::kBool && (i + 1 >= flags.size() || flags[i + 1].compare(0, 2, "--") == 0)) {
      value = "true";
    } else if (i + 1 < flags.size()) {
      value = flags[++i];
    } else {
      return MakeError(Code::kInvalid, "setting.syntax", StrCat("--", name, " needs a value"), name);
    }
    TRY_VOID(Check(*row, value, StrCat("--", name)));
    given[name] = value;
  }
  std::map<std::string, std::string> values;
  for (const SettingRow& row : SettingTable()) values[row.name] = row.standard;
  std::string home = given.count("home") ? given["home"] : DefaultHome();
  TRY_VOID(ReadFile(os::JoinPath(home, "ferry.conf"), values));
  for (const SettingRow& row : SettingTable()) {
    std::string variable = VariableName(row.name);
    auto value = os::GetEnv(variable);
    if (!value || value->empty() || std::string_view(row.name) == "home") continue;
    TRY_VOID(Check(row, *value, variable));
    values[row.name] = *value;
  }
  for (auto& [name, value] : given) values[name] = value;

  auto number = [&](const char* name) { return *ParseInt(values[name]); };
  Settings settings;
  settings.home = home;
  settings.address = values["address"];
  settings.port = number("port");
  settings.tls_certificate = values["tls-certificate"];
  settings.tls_key = values["tls-key"];
  settings.allow_insecure = values["allow-insecure"] == "true";
  settings.slots = number("slots");
  settings.node_grace_seconds = number("node-grace-seconds");
  settings.agent = values["agent"] == "true";
  settings.environment_cache_gb = number("environment-cache-gb");
  settings.environment_cache_days = number("environment-cache-days");
  settings.conda_strict = values["conda-strict"] == "true";
  settings.container_engine = values["container-engine"];
  settings.image_aliases = values["image-aliases"];
  settings.threads = number("threads");
  settings.log_level = values["log-level"];
  if (settings.tls_certificate.empty() != settings.tls_key.empty())
    return MakeError(Code::kInvalid, "setting.tls", "tls-certificate and tls-key must be given together",
                     settings.tls_key.empty() ? "tls-key" : "tls-certificate");
  bool numeric = settings.address.find_first_not_of("0123456789.") == std::string::npos;
  bool loopback = (numeric && settings.address.compare(0, 4, "127.") == 0) || settings.address == "::1" || settings.address == "localhost";
  if (!loopback && settings.tls_certificate.empty() && !settings.allow_insecure)
    return MakeError(Code::kInvalid, "setting.insecure",
                     StrCat("address ", settings.address,
                            " can be reached by others and TLS is off: tokens would travel in clear. Give --tls-certificate and --tls-key, or --allow-insecure "
                            "if something in front of Ferry does TLS"),
                     "address");
  return settings;
}

std::string SettingHelp() {
  std::string out;
  for (const SettingRow& row : SettingTable()) {
    std::string flag = StrCat("  --", row.name, row.type == SettingType::kBool ? "" : row.type == SettingType::kInt ? " N" : " TEXT");
    flag.resize(std::max<size_t>(flag.size() + 1, 28), ' ');
    out += StrCat(flag, row.help, *row.standard ? StrCat(" (", row.standard, ")") : std::string(), "\n");
  }
  return out;
}

std::string SettingMarkdown() {
  std::string out =
      "# Server settings\n\nPrinted by `ferry server --settings`; a test keeps this page equal to the table in `src/server/settings.cc`.\n\n"
      "A flag wins over the variable, the variable over `FERRY_HOME/ferry.conf` (`name = value` lines), and that over the default.\n\n"
      "| flag and file | variable | default | meaning |\n|---|---|---|---|\n";
  for (const SettingRow& row : SettingTable())
    out += StrCat("| `--", row.name, "` | `", VariableName(row.name), "` | ", *row.standard ? StrCat("`", row.standard, "`") : std::string("empty"), " | ",
                  row.help, " |\n");
  return out;
}

}  // namespace ferry::server

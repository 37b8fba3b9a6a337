#include "cli/args.h"

#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "cli/commands.h"
#include "os/file.h"
#include "os/process.h"
#include "os/program.h"

namespace ferry::cli {
namespace {

std::vector<std::string> Words(std::string_view line) {
  std::vector<std::string> words;
  if (line.empty()) return words;
  for (std::string_view word : Split(line, ' ')) words.emplace_back(word);
  return words;
}

Arguments Parsed(std::string_view line) {
  auto arguments = ParseArguments(Commands(), Words(line));
  EXPECT_TRUE(arguments.ok()) << line << ": " << arguments.error().message;
  return arguments.ok() ? *arguments : Arguments();
}

std::string Refused(std::string_view line) {
  auto arguments = ParseArguments(Commands(), Words(line));
  EXPECT_FALSE(arguments.ok()) << line;
  if (arguments.ok()) return {};
  EXPECT_EQ(arguments.error().code, Code::kInvalid);
  EXPECT_TRUE(arguments.error().slug.starts_with("args.")) << arguments.error().slug;
  return arguments.error().message;
}

TEST(Args, ScriptTakesEverythingBehindIt) {
  Arguments a = Parsed("run submit-script -e exp --ct local --tag a=1 --tag b train.py -e 5 --tag x --help -- -o");
  EXPECT_STREQ(a.command->path, "run submit-script");
  EXPECT_EQ(a.Get("experiment-name"), "exp");
  EXPECT_EQ(a.Get("target"), "local");
  EXPECT_EQ(a.All("tag"), (std::vector<std::string>{"a=1", "b"}));
  EXPECT_EQ(a.Get("SCRIPT"), "train.py");
  EXPECT_EQ(a.rest, Words("-e 5 --tag x --help -- -o"));
  EXPECT_FALSE(a.help);
  EXPECT_EQ(Parsed("run submit-script -- train.py").Get("SCRIPT"), "train.py");
  EXPECT_EQ(Parsed("run submit-script -- -odd.py -x").rest, Words("-x"));
}

TEST(Args, CommandBehindDashes) {
  EXPECT_EQ(Parsed("run submit-command -e x -- nvidia-smi -L").rest, Words("nvidia-smi -L"));
  EXPECT_EQ(Parsed("run submit-command -e x nvidia-smi -L").rest, Words("nvidia-smi -L"));
  EXPECT_EQ(Refused("run submit-command -e x"), "run submit-command needs PROGRAM: the program and its arguments, best behind --");
}

TEST(Args, FormsOfOptions) {
  for (const char* line : {"run list -e x", "run list -ex", "run list -e=x", "run list --experiment-name x", "run list --experiment-name=x"})
    EXPECT_EQ(Parsed(line).Get("experiment-name"), "x") << line;
  EXPECT_EQ(Parsed("run list --order -created").Get("order"), "-created");
  EXPECT_EQ(Parsed("run list").Get("order"), "-created");
  EXPECT_EQ(Parsed("run list").Number("last"), 10);
  EXPECT_EQ(Parsed("run list --last 3 --last 4").Number("last"), 4);
  EXPECT_EQ(Parsed("run list --filter=a=b").Get("filter"), "a=b");
  EXPECT_FALSE(Parsed("run list").Has("all"));
  EXPECT_TRUE(Parsed("run list --all").Has("all"));
}

TEST(Args, SharedOptionsInFront) {
  Arguments a = Parsed("-o json --debug run list -w team");
  EXPECT_EQ(a.Get("output"), "json");
  EXPECT_TRUE(a.Has("debug"));
  EXPECT_EQ(a.Get("workspace-name"), "team");
  EXPECT_TRUE(Parsed("run show -r x -w team -g group --subscription-id s").Has("run"));
}

TEST(Args, RunAsOptionOrWord) {
  EXPECT_EQ(Parsed("run show -r a").Get("run"), "a");
  EXPECT_EQ(Parsed("run show a").Get("run"), "a");
  EXPECT_EQ(Refused("run show -r a b"), "'b' is one word too many: --run is given already");
  EXPECT_EQ(Refused("run show a b"), "'b' is one word too many for run show");
  EXPECT_EQ(Refused("run show"), "run show needs RUN (or -r/--run): the run's id");
}

TEST(Args, LettersOfACommandWinAndLongNamesStay) {
  Arguments a = Parsed("model download -i m:1 -t here --output-metadata-file m.json");
  EXPECT_EQ(a.Get("target-dir"), "here");
  EXPECT_EQ(a.Get("output-metadata-file"), "m.json");
  EXPECT_EQ(Parsed("run show r -t run.json").Get("output-metadata-file"), "run.json");
  EXPECT_EQ(Parsed("run show r --subscription s").Get("subscription-id"), "s");
}

TEST(Args, FlagsThatMayBeSaidInWords) {
  EXPECT_TRUE(Parsed("datastore upload -n d -p x --overwrite").Has("overwrite"));
  EXPECT_TRUE(Parsed("datastore upload -n d --overwrite true -p x").Has("overwrite"));
  EXPECT_TRUE(Parsed("datastore upload -n d --overwrite=True -p x").Has("overwrite"));
  EXPECT_FALSE(Parsed("datastore upload -n d --overwrite false -p x").Has("overwrite"));
  EXPECT_EQ(Refused("datastore upload -n d -p x --overwrite=no"), "--overwrite is 'no'; expected true or false");
}

TEST(Args, GroupsInsideGroups) {
  EXPECT_STREQ(Parsed("computetarget attach remote -n a -a h -u me").command->path, "computetarget attach remote");
  EXPECT_EQ(Refused("computetarget attach remtoe"), "'computetarget attach remtoe' is not a command; did you mean 'computetarget attach remote'?");
  std::string help = HelpText(Commands(), Parsed("computetarget"));
  EXPECT_NE(help.find("\n  attach "), std::string::npos) << help;
  EXPECT_NE(help.find("\n  list "), std::string::npos) << help;
  EXPECT_EQ(help.find("identity"), std::string::npos) << help;
}

TEST(Args, Errors) {
  EXPECT_EQ(Refused("run sumbit-script x"), "'run sumbit-script' is not a command; did you mean 'run submit-script'?");
  EXPECT_EQ(Refused("rum list"), "'rum' is not a command; did you mean 'run'?");
  EXPECT_EQ(Refused("submit-script x.py"), "'submit-script' is not a command; did you mean 'run submit-script'?");
  EXPECT_EQ(Refused("run xyzzy"), "'run xyzzy' is not a command");
  EXPECT_EQ(Refused("run list --stauts Failed"), "run list has no option --stauts; did you mean --status?");
  EXPECT_EQ(Refused("run list -z"), "run list has no option -z");
  EXPECT_EQ(Refused("run list --last many"), "--last is 'many'; expected a whole number from 0");
  EXPECT_EQ(Refused("run list --last -1"), "--last is '-1'; expected a whole number from 0");
  EXPECT_EQ(Refused("run list --last"), "--last needs a value (N)");
  EXPECT_EQ(Refused("run list -e --all"), "-e needs a value (NAME)");
  EXPECT_EQ(Refused("run list --all=1"), "--all takes no value");
  EXPECT_EQ(Refused("run list -o jsn"), "-o is 'jsn'; expected one of table, json, jsonc, tsv, yaml, yamlc, none; did you mean json?");
  EXPECT_EQ(Refused("user add joe"), "user add needs --role ROLE");
  EXPECT_EQ(Refused("--outptu json run list"), "ferry has no option --outptu; did you mean --output?");
}

TEST(Args, HelpAtEveryLevel) {
  EXPECT_EQ(Parsed("").command, nullptr);
  EXPECT_TRUE(Parsed("run --help").help);
  EXPECT_TRUE(Parsed("--help run").help);
  EXPECT_TRUE(Parsed("run show --help").help);
  std::string top = HelpText(Commands(), Arguments());
  EXPECT_NE(top.find("Usage: ferry COMMAND [OPTIONS]\n"), std::string::npos);
  EXPECT_NE(top.find("\n  run            Submit runs and look after them\n"), std::string::npos) << top;
  EXPECT_EQ(HelpText(Commands(), Parsed("user")),
            "Usage: ferry user COMMAND [OPTIONS]\n"
            "\n"
            "Who may use the server.\n"
            "\n"
            "Commands:\n"
            "  add     Add a user, or change the role of one\n"
            "  list    List users\n"
            "  remove  Remove a user and the user's tokens\n"
            "\n"
            "More on one of them: ferry user COMMAND --help\n");
  EXPECT_EQ(HelpText(Commands(), Parsed("run explain --help"), 80),
            "Usage: ferry run explain [OPTIONS] RUN\n"
            "\n"
            "Say why a run is where it is.\n"
            "\n"
            "Arguments:\n"
            "  RUN  the run's id\n"
            "\n"
            "Options:\n"
            "  -r, --run RUN  the run's id\n"
            "\n"
            "Common options:\n"
            "  -w, --workspace-name NAME           accepted and not used\n"
            "      --path FOLDER                   accepted and not used\n"
            "  -g, --resource-group NAME           accepted and not used\n"
            "      --subscription-id, --subscription ID\n"
            "                                      accepted and not used\n"
            "  -t, --output-metadata-file FILE     write the result into this file, too, as\n"
            "                                      JSON\n"
            "  -o, --output FORMAT                 how the result is printed: table, json,\n"
            "                                      jsonc, tsv, yaml, yamlc, none (default:\n"
            "                                      table)\n"
            "      --query JMESPATH                print only what this expression selects of\n"
            "                                      the result\n"
            "      --only-show-errors              no notes, no progress\n"
            "      --verbose                       tell every request on standard error\n"
            "      --debug                         the same\n"
            "  -h, --help                          this text\n");
}

// Every command: help without a hole, no letter or name twice, options that positionals fill.
TEST(Args, TableIsSound) {
  std::set<std::string> paths;
  for (const Command& command : Commands().commands) {
    EXPECT_TRUE(paths.insert(command.path).second) << command.path;
    EXPECT_NE(command.handler, nullptr) << command.path;
    std::set<std::string> names;
    std::set<char> letters;
    for (const Option* option : OptionsOf(command)) {
      EXPECT_TRUE(names.insert(option->name).second) << command.path << " --" << option->name;
      if (option->alias) {
        EXPECT_TRUE(names.insert(option->alias).second) << command.path << " --" << option->alias;
      }
      if (option->letter) {
        EXPECT_TRUE(letters.insert(option->letter).second) << command.path << " -" << option->letter;
      }
      EXPECT_STRNE(option->help, "") << command.path << " --" << option->name;
      EXPECT_TRUE(option->choices.empty() || option->value) << command.path << " --" << option->name;
    }
    for (const Positional& positional : command.positionals)
      if (positional.fills) {
        EXPECT_TRUE(names.count(positional.fills)) << command.path;
      }
    std::string_view path = command.path;
    if (size_t blank = path.find(' '); blank != std::string_view::npos) {
      bool grouped = false;
      for (const Group& group : Commands().groups) grouped |= path.substr(0, path.rfind(' ')) == group.path;
      EXPECT_TRUE(grouped && blank > 0) << path;
    }
    Arguments arguments;
    arguments.command = &command;
    for (int width : {40, 80, 200}) EXPECT_FALSE(HelpText(Commands(), arguments, width).empty());
  }
}

std::string Completed(std::string_view line) {
  std::string out;
  for (const auto& [word, help] : Complete(Commands(), Words(line))) out += StrCat(out.empty() ? "" : " ", word);
  return out;
}

TEST(Args, Completion) {
  EXPECT_EQ(Completed("r"), "run runconfig");
  EXPECT_EQ(Completed("run sub"), "submit-script submit-command submit-hyperdrive submit-pipeline");
  EXPECT_EQ(Completed("computetarget a"), "attach amlcompute");
  EXPECT_EQ(Completed("computetarget attach "), "remote aks kubernetes");
  EXPECT_EQ(Completed("run list --st"), "--status");
  EXPECT_EQ(Completed("run list --status C"), "CancelRequested Completed Canceled");
  EXPECT_EQ(Completed("run list -o y"), "yaml yamlc");
  EXPECT_EQ(Completed("completion f"), "fish");
  EXPECT_EQ(Completed("run submit-script "), ":files");
  EXPECT_EQ(Completed("run submit-script train.py --st"), ":files");
  EXPECT_EQ(Completed("server st"), "start stop status");
  EXPECT_EQ(Completed("_"), "");
}

TEST(Args, CompletionScriptsAreShell) {
  std::string path = ::testing::TempDir() + "ferry-completion.bash";
  for (const char* shell : {"bash", "zsh", "fish"}) {
    std::string script = CompletionScript(shell);
    ASSERT_FALSE(script.empty());
    EXPECT_NE(script.find("__complete"), std::string::npos);
    ASSERT_TRUE(os::WriteFileAtomic(path, script, 0644, false).ok());
    if (!os::FindProgram(shell, os::GetEnv("PATH").value_or(""))) continue;
    auto checked = os::OutputOf({shell, "-n", path}, std::chrono::milliseconds(10000));
    EXPECT_TRUE(checked.ok()) << checked.error().message;
  }
  EXPECT_EQ(CompletionScript("csh"), "");
}

TEST(Args, ReferencePageNamesEveryCommand) {
  std::string page = ReferencePage(Commands());
  for (const Command& command : Commands().commands) {
    EXPECT_EQ(page.find(StrCat("\n### ferry ", command.path, "\n")) != std::string::npos, !command.hidden && !command.later) << command.path;
    EXPECT_EQ(page.find(StrCat("\n| `ferry ", command.path, "` |")) != std::string::npos, command.later) << command.path;
  }
}

}  // namespace
}  // namespace ferry::cli

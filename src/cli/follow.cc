#include "cli/follow.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "base/text.h"
#include "cli/colour.h"
#include "cli/commands.h"
#include "cli/width.h"
#include "model/reason.h"

namespace ferry::cli {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

// How long a server that cannot be reached is waited for.
constexpr milliseconds kPatience{120000};
constexpr size_t kShownFiles = 20;
constexpr const char* kBuildLog = "azureml-logs/20_image_build_log.txt";

bool HasEnded(const Json& view) {
  auto status = model::StatusFromName(view.GetString("status"));
  return status && model::IsTerminal(*status);
}

// Shows one run. The status line is also moved on by a ticking thread, so all of it is under one lock.
class Watcher {
 public:
  Watcher(Context& context, Interrupt& interrupt, bool build_is_output)
      : context_(context),
        interrupt_(interrupt),
        build_is_output_(build_is_output),
        to_err_(!context.ForPeople()),
        line_(context.streams.err_terminal, context.streams.err) {
    if (context.streams.err_terminal.rewrites && !context.quiet())
      interrupt_.SetTick([this] {
        std::lock_guard lock(mutex_);
        ShowStage();
      });
  }
  ~Watcher() { interrupt_.SetTick({}); }

  // False once the run has ended and everything was shown.
  bool Take(const http::Event& event) {
    std::lock_guard lock(mutex_);
    auto data = ParseJson(event.data, "an event");
    if (!data.ok()) return true;
    if (!event.id.empty()) last_id_ = event.id;
    lost_ = false;
    if (event.event == "status") {
      TakeStatus(std::move(*data));
    } else if (event.event == "log") {
      TakeLog(*data);
    } else if (event.event == "end") {
      ended_ = true;
    }
    return !ended_;
  }

  void Lost(const Error* error) {
    std::lock_guard lock(mutex_);
    if (lost_) return;
    lost_ = true;
    Say(StrCat("lost the connection to the server", error ? StrCat(" (", error->message, ")") : std::string(), "; trying again"));
  }

  // Removes the status line for good.
  void Finish() {
    interrupt_.SetTick({});
    std::lock_guard lock(mutex_);
    line_.Clear();
    EndLine();
  }

  bool ended() const { return ended_; }
  const std::string& last_id() const { return last_id_; }
  const Json& view() const { return view_; }

 private:
  void TakeStatus(Json view) {
    int64_t before = view_.is_null() ? 0 : view_.GetInt("attempt");
    view_ = std::move(view);
    if (const Json* environment = view_.Find("environment"); before == 0 && environment && !environment->GetString("note").empty())
      Say(OneLine(environment->GetString("note")));
    if (before > 0 && view_.GetInt("attempt") > before) {
      std::string why;
      if (const Json* attempts = view_.Find("attempts"); attempts && attempts->is_array() && attempts->as_array().size() >= static_cast<size_t>(before)) {
        const Json& old = attempts->as_array()[static_cast<size_t>(before) - 1];
        why = old.GetString("detail", old.GetString("reason"));
      }
      Say(StrCat("attempt ", before, " ended", why.empty() ? "" : ": ", why, "; trying again"));
      printing_ = false;
    }
    ShowStage();
  }

  void TakeLog(const Json& data) {
    const Json* text = data.Find("data");
    if (!text || !text->is_string()) return;
    std::string_view bytes = text->as_string();
    // What an earlier connection already brought is not printed again.
    uint64_t& printed = printed_[StrCat(data.GetInt("attempt"), "/", data.GetString("stream"))];
    const uint64_t offset = static_cast<uint64_t>(data.GetInt("offset"));
    // Bytes that are no text were replaced, so the text may be longer than the bytes that it stands for.
    const uint64_t next = static_cast<uint64_t>(data.GetInt("next", static_cast<int64_t>(offset + bytes.size())));
    if (next <= printed) return;
    if (offset < printed && next - offset == bytes.size()) bytes.remove_prefix(printed - offset);
    printed = next;
    line_.Clear();
    const bool aside = data.GetString("stream") == kBuildLog && !build_is_output_;
    if (aside && context_.quiet()) return;
    // The status line goes on below a build.
    if (!aside) printing_ = true;
    open_line_ = bytes.back() != '\n';
    (to_err_ || aside ? context_.streams.err : context_.streams.out)(bytes);
  }

  // The status line is for the time before there is output: it would stand in the way of it.
  void ShowStage() {
    if (printing_ || context_.quiet() || view_.is_null() || HasEnded(view_)) return;
    std::string status = view_.GetString("status");
    std::string detail;
    if (const Json* stages = view_.Find("stages"); stages && stages->is_array()) {
      for (const Json& stage : stages->as_array()) {
        const Json* end = stage.Find("end");
        const bool open = !end || end->is_null();
        auto begin = ParseTime(stage.GetString("start"));
        auto ended = open ? std::optional(Now()) : ParseTime(end->is_string() ? end->as_string() : "");
        if (!begin || !ended) continue;
        detail += StrCat(detail.empty() ? "" : ", ", stage.GetString("name"), " ", FormatDuration(Tenths(*ended - *begin)));
      }
    }
    if (std::string waiting = view_.GetString("waiting"); !waiting.empty()) detail += StrCat(" (", waiting, ")");
    line_.Update(status, detail.empty() ? detail : StrCat("  ", detail));
  }

  // A clock that shows more than it needs flickers.
  static Duration Tenths(Duration time) { return Duration(std::max<int64_t>(0, time.count()) / 100000 * 100000); }

  void Say(std::string_view note) {
    line_.Clear();
    EndLine();
    context_.Note(note);
  }
  // A note on a terminal begins on a line of its own.
  void EndLine() {
    if (open_line_ && context_.streams.err_terminal.is_tty && (to_err_ || context_.streams.out_terminal.is_tty)) context_.streams.err("\n");
    open_line_ = false;
  }

  Context& context_;
  Interrupt& interrupt_;
  const bool build_is_output_;
  const bool to_err_;
  std::mutex mutex_;
  StatusLine line_;
  Json view_;
  std::string last_id_;
  std::map<std::string, uint64_t> printed_;  // by attempt and stream
  bool printing_ = false;                    // output of this attempt has begun
  bool open_line_ = false;                   // the output's last line has no end yet
  bool lost_ = false;
  bool ended_ = false;
};

Colour ColourOf(const std::string& status) {
  if (status == "Completed") return Colour::kGreen;
  if (status == "Canceled") return Colour::kYellow;
  return Colour::kRed;
}

const Columns& MetricColumns() {
  static const Columns columns = {{"METRIC", "name"},
                                  {"LATEST", "latest", Style::kPlain, Align::kRight},
                                  {"STEP", "latest_step", Style::kPlain, Align::kRight},
                                  {"MIN", "min", Style::kPlain, Align::kRight},
                                  {"MAX", "max", Style::kPlain, Align::kRight},
                                  {"COUNT", "count", Style::kPlain, Align::kRight}};
  return columns;
}

// How the run ended, what it logged and what it left behind.
void Summarize(Context& context, Session& session, const Json& view) {
  const Terminal& terminal = context.streams.err_terminal;
  std::string id = view.GetString("id"), status = view.GetString("status");
  std::string line = terminal.colour ? Paint(status, ColourOf(status)) : status;
  Json seconds = SecondsBetween(view, "started", "ended");
  if (seconds.is_number()) line += StrCat(" in ", RenderCell(seconds, Style::kDuration, {}));
  if (const Json* end = view.Find("end"); end && status != "Completed" && !end->GetString("text").empty())
    line += StrCat(": ", OneLine(end->GetString("text")));
  std::string out = StrCat("\n", line, "\n");
  if (auto metrics = session.Get(ApiPath({"runs", id, "metrics"})); metrics.ok()) {
    // What Ferry itself measures is not what the script wants to say.
    Json list = Json::MakeArray();
    if (Json* all = metrics->Find("metrics"); all && all->is_array())
      for (Json& metric : all->as_array())
        if (metric.GetString("kind") != "system") list.Push(std::move(metric));
    if (!list.as_array().empty()) out += StrCat("\n", Render(list, Format::kTable, &MetricColumns(), terminal.colour, terminal.width));
  }
  if (auto files = session.Get(ApiPath({"runs", id, "artifacts"})); files.ok()) {
    const Json* list = files->Find("artifacts");
    size_t count = list && list->is_array() ? list->as_array().size() : 0;
    if (count > 0) out += "\nFiles:\n";
    for (size_t i = 0; i < std::min(count, kShownFiles); ++i) {
      const Json& file = list->as_array()[i];
      out += StrCat("  ", OneLine(file.GetString("path")), "  ", FormatBytes(static_cast<uint64_t>(file.GetInt("size"))), "\n");
    }
    const Json* next = files->Find("next");
    if (count > kShownFiles || (next && next->is_string())) out += StrCat("  and more: ferry run files -r ", id, "\n");
  }
  context.streams.err(out);
}

}  // namespace

Json SecondsBetween(const Json& view, std::string_view from, std::string_view to) {
  auto begin = ParseTime(view.GetString(from));
  if (!begin) return {};
  auto end = ParseTime(view.GetString(to));
  if (!end && HasEnded(view)) return {};
  return static_cast<double>(std::max<int64_t>(0, ((end ? *end : Now()) - *begin).count())) / 1e6;
}

Result<int> Follow(Context& context, Session& session, const std::string& run, Interrupt& interrupt, bool build_is_output) {
  const std::string path = ApiPath({"runs", run, "events"});
  Watcher watcher(context, interrupt, build_is_output);
  auto detached = [&]() -> int {
    watcher.Finish();
    if (!context.quiet())
      context.streams.err(
          StrCat("\ndetached; the run goes on\n  follow it:  ferry run monitor-logs -r ", run, "\n  cancel it:  ferry run cancel -r ", run, "\n"));
    return 130;
  };
  auto heard = Steady::now();
  for (milliseconds pause{100}; !watcher.ended();) {
    auto result = session.Events(path, watcher.last_id(), [&](const http::Event& event) {
      heard = Steady::now();
      pause = milliseconds(100);
      return watcher.Take(event);
    });
    if (interrupt.pressed()) return detached();
    if (watcher.ended()) break;
    if (!result.ok() && !IsConnectionError(result.error()) && result.error().slug != "http.bad_reply") {
      watcher.Finish();
      return result.error();
    }
    if (Steady::now() - heard > kPatience) {
      watcher.Finish();
      return MakeError(Code::kUnavailable, "server.lost",
                       StrCat("the server at ", session.url(), " does not answer any more; follow the run later with: ferry run monitor-logs -r ", run));
    }
    watcher.Lost(result.ok() ? nullptr : &result.error());
    interrupt.Sleep(pause);
    if (interrupt.pressed()) return detached();
    pause = std::min(pause * 2, milliseconds(2000));
    session.Relocate();
  }
  watcher.Finish();
  Json view = watcher.view();
  if (view.is_null() || !HasEnded(view)) {
    TRY(view, session.Get(ApiPath({"runs", run})));
  }
  if (!context.quiet()) Summarize(context, session, view);
  TRY([[maybe_unused]] int told, context.Tell(view, ""));
  return view.GetString("status") == "Completed" ? 0 : 1;
}

Result<int> MonitorLogs(Context& context) {
  TRY(Session * session, context.Server());
  std::string run = context.arguments.Get("run");
  // Says at once that there is no such run, and starts the server when it has to be.
  TRY(Json view, session->Get(ApiPath({"runs", run})));
  Interrupt interrupt;
  session->set_stop(interrupt.token());
  return Follow(context, *session, run, interrupt);
}

}  // namespace ferry::cli

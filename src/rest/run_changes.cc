// What is done to a run that is there: updates and its end.
#include "base/text.h"
#include "rest/handlers.h"

namespace ferry::rest {

void UpdateRun(const Parts& parts, Call call, http::Responder responder) {
  auto build = [&]() -> Result<engine::Update> {
    TRY(Json body, BodyObject(call));
    engine::Update update;
    update.run = call.params["id"];
    TRY(update.set_tags, StringMap(body, "tags", 500, 64u << 10));
    TRY(update.add_properties, StringMap(body, "properties", 1000, 64u << 10));
    TRY(update.remove_tags, Texts(body, "remove_tags"));
    for (const auto& [key, value] : body.as_object()) {
      if (key == "tags" || key == "properties" || key == "remove_tags") continue;
      if (key == "snapshot" && value.is_string()) {
        TRY_VOID(CheckSnapshot(parts, value.as_string()));
        update.snapshot = value.as_string();
      } else if (key == "name" && value.is_string() && value.as_string().size() <= 255) {
        update.name = value.as_string();
      } else if (key == "description" && value.is_string() && value.as_string().size() <= 65536) {
        update.description = value.as_string();
      } else if (key == "archived" && value.is_bool()) {
        update.archived = value.as_bool();
      } else {
        return MakeError(Code::kInvalid, "field.unknown",
                         StrCat("'", key.substr(0, 80),
                                "' cannot be changed so; expected name, description, snapshot (texts), archived (a boolean), tags, remove_tags or properties"),
                         key.substr(0, 80));
      }
    }
    return update;
  };
  auto update = build();
  if (!update.ok()) return Answer(responder, update.error());
  parts.engine.Do(std::move(*update), [responder](Result<Json> result) { Answer(responder, result); });
}

void CancelRun(const Parts& parts, Call call, http::Responder responder) {
  parts.engine.Do(engine::Cancel{call.params["id"]}, [responder](Result<Json> result) { Answer(responder, result); });
}

void EvictRun(const Parts& parts, Call call, http::Responder responder) {
  parts.engine.Do(engine::Evict{call.params["id"]}, [responder](Result<Json> result) { Answer(responder, result); });
}

void CompleteRun(const Parts& parts, Call call, http::Responder responder) {
  parts.engine.Do(engine::Complete{call.params["id"]}, [responder](Result<Json> result) { Answer(responder, result); });
}

void FailRun(const Parts& parts, Call call, http::Responder responder) {
  auto build = [&]() -> Result<engine::Fail> {
    TRY(Json body, BodyObject(call));
    for (const auto& [key, value] : body.as_object())
      if ((key != "message" && key != "code") || (!value.is_string() && !value.is_null()))
        return MakeError(Code::kInvalid, "field.unknown", StrCat("'", key.substr(0, 80), "' is no part of a failure; expected message and code (texts)"),
                         key.substr(0, 80));
    engine::Fail fail{call.params["id"], body.GetString("message"), body.GetString("code")};
    if (fail.message.size() > 65536 || fail.code.size() > 255)
      return MakeError(Code::kTooLarge, "field.too_long", "message has at most 64 KB and code 255 bytes", fail.code.size() > 255 ? "code" : "message");
    return fail;
  };
  auto fail = build();
  if (!fail.ok()) return Answer(responder, fail.error());
  parts.engine.Do(std::move(*fail), [responder](Result<Json> result) { Answer(responder, result); });
}

}  // namespace ferry::rest

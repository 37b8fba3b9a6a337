// What is done to a run that is there: updates, files, and its end.
#include "base/text.h"
#include "base/utf8.h"
#include "engine/tables.h"
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

void AddArtifact(const Parts& parts, Call call, http::Responder responder) {
  auto build = [&]() -> Result<engine::AddArtifact> {
    TRY(Json body, BodyObject(call));
    for (const auto& [key, value] : body.as_object())
      if (!(key == "digest" && value.is_string()) && !(key == "size" && value.is_int()) && !(key == "overwrite" && value.is_bool()))
        return MakeError(
            Code::kInvalid, "field.unknown",
            StrCat("'", key.substr(0, 80), "' is no part of an artifact; expected digest (a text), size (a whole number) or overwrite (a boolean)"),
            key.substr(0, 80));
    engine::AddArtifact add;
    TRY(add.artifact, engine::ArtifactFromJson(body));
    add.artifact.run = call.params["id"];
    add.artifact.path = call.params["path"];
    add.overwrite = body.GetBool("overwrite");
    if (!logs::IsSafePath(add.artifact.path) || !IsUtf8(add.artifact.path))
      return MakeError(Code::kInvalid, "artifact.path",
                       StrCat("'", ToUtf8(add.artifact.path.substr(0, 200)), "' is no path of an artifact: expected a relative one without '.' and '..'"),
                       "path");
    auto reader = parts.blobs.Open(add.artifact.digest);
    if (!reader.ok() && reader.error().code != Code::kNotFound) return reader.error();
    if (!reader.ok()) return MakeError(Code::kConflict, "artifact.no_blob", StrCat("the content of '", add.artifact.path, "' was not uploaded"), "digest");
    if (body.Find("size") && add.artifact.size != (*reader)->size())
      return MakeError(Code::kInvalid, "artifact.size", StrCat("size is ", add.artifact.size, "; the content has ", (*reader)->size(), " bytes"), "size");
    add.artifact.size = (*reader)->size();
    return add;
  };
  auto add = build();
  if (!add.ok()) return Answer(responder, add.error());
  parts.engine.Do(std::move(*add), [responder](Result<Json> result) {
    if (!result.ok()) return Answer(responder, result);
    bool created = result->GetBool("created");
    result->Erase("created");
    Answer(responder, ArtifactView(std::move(*result)), created ? 201 : 200);
  });
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

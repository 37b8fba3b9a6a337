// Secrets of a workspace: set by people, read by people and runs, sealed at rest.
#include "base/text.h"
#include "engine/tables.h"
#include "rest/documents.h"
#include "rest/handlers.h"

namespace ferry::rest {
namespace {

constexpr size_t kLongestSecret = 64u << 10;

}  // namespace

void ListSecrets(const Parts& parts, Call call, http::Responder responder) {
  auto workspace = WorkspaceOf(call, call.head.Query("workspace"));
  if (!workspace.ok()) return Answer(responder, workspace.error());
  Answer(responder, ListTable(parts, call, "secret", "secrets", {{{"", "workspace"}, store::Op::kEq, {*workspace}}},
                              [](const Json& json) { return model::SecretView(model::SecretFromJson(json)); }));
}

void SetSecret(const Parts& parts, Call call, http::Responder responder) {
  auto build = [&]() -> Result<engine::SetSecret> {
    TRY(Json body, BodyObject(call));
    TRY_VOID(CheckFields(body, {"workspace", "value", "content_type"}));
    TRY(auto workspace, OptionalText(body, "workspace", kLongestSecret));
    TRY(auto value, OptionalText(body, "value", kLongestSecret));
    TRY(auto content_type, OptionalText(body, "content_type", 255));
    if (!value || value->empty()) return MakeError(Code::kInvalid, "secret.value", "value must be a text of 1 byte to 64 KB", "value");
    engine::SetSecret input;
    TRY(input.secret.workspace, WorkspaceOf(call, workspace ? *workspace : call.head.Query("workspace")));
    input.secret.name = call.params["name"];
    TRY_VOID(model::CheckSecretName(input.secret.name));
    input.secret.value = parts.access.Sealed(*value);
    input.secret.content_type = content_type.value_or("");
    input.secret.user = call.identity.user;
    return input;
  };
  auto input = build();
  if (!input.ok()) return Answer(responder, input.error());
  parts.engine.Do(std::move(*input), [responder](Result<Json> result) {
    if (!result.ok()) return Answer(responder, result);
    bool made = result->GetBool("made");
    result->Erase("made");
    Answer(responder, result, made ? 201 : 200);
  });
}

void ReadSecret(const Parts& parts, Call call, http::Responder responder) {
  auto read = [&]() -> Result<Json> {
    TRY(std::string workspace, WorkspaceOf(call, call.head.Query("workspace")));
    TRY_VOID(model::CheckSecretName(call.params["name"]));
    TRY(Json json, ShowOne(parts, "secret", engine::SecretKey(workspace, call.params["name"]), call.params["name"]));
    model::Secret secret = model::SecretFromJson(json);
    TRY(std::string value, parts.access.Opened(secret.value));
    return model::SecretView(secret).Set("value", value);
  };
  Answer(responder, read());
}

void DeleteSecret(const Parts& parts, Call call, http::Responder responder) {
  auto workspace = WorkspaceOf(call, call.head.Query("workspace"));
  if (!workspace.ok()) return Answer(responder, workspace.error());
  parts.engine.Do(engine::DeleteSecret{*workspace, call.params["name"]}, [responder](Result<Json> result) { Answer(responder, result); });
}

}  // namespace ferry::rest

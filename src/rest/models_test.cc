// Models and datasets as clients ask for them, over a real socket.
#include "rest/test_server.h"

namespace ferry::rest {
namespace {

class ModelsTest : public ServerTest {
 protected:
  // A run with files, as its node has reported them.
  void RunWithFiles(const std::string& id, const std::vector<std::string>& paths) {
    Hello();
    Submit(id);
    Happen(id, "Accepted");
    std::string artifacts;
    for (const std::string& path : paths)
      artifacts += StrCat(artifacts.empty() ? "" : ",", R"({"run":")", id, R"(","attempt":1,"path":")", path, R"(","digest":")", AddBlob(path).Hex(),
                          R"(","size":)", path.size(), "}");
    EXPECT_EQ(Report(StrCat(R"("artifacts":[)", artifacts, "]")).status, 200);
  }
  http::Reply Register(const std::string& fields) { return Ask(contributor_, "POST", "/api/v1/models", StrCat("{", fields, "}")); }
  std::string File(const std::string& path, const std::string& content) {
    return StrCat(R"({"path":")", path, R"(","digest":")", AddBlob(content).Hex(), R"(","size":)", content.size(), "}");
  }
  http::Reply Save(const std::string& fields) { return Ask(contributor_, "POST", "/api/v1/datasets", StrCat("{", fields, "}")); }
  static std::string Data(const std::string& url) { return StrCat(R"("type":"File","definition":{"paths":[{"url":")", url, "\"}]}"); }
  static std::string FieldOf(const http::Reply& reply) { return StrCat(ErrorOf(reply), " ", ParseJson(reply.body)->Find("error")->GetString("field")); }
  // "a:1 b:2" of a list.
  std::string Ids(const std::string& query) {
    std::string out;
    const Json list = Get("/api/v1/models?" + query);
    for (const Json& one : list.Find("models")->as_array()) out += StrCat(out.empty() ? "" : " ", one.GetString("id"));
    return out;
  }
  std::string Names(const std::string& query) {
    std::string out;
    const Json list = Get("/api/v1/datasets?" + query);
    for (const Json& one : list.Find("datasets")->as_array()) out += StrCat(out.empty() ? "" : " ", one.GetString("name"), ":", one.GetInt("version"));
    return out;
  }
  std::string Paths(const std::string& name) {
    std::string out;
    const Json list = Get(StrCat("/api/v1/models/", name, "/files"));
    for (const Json& one : list.Find("files")->as_array()) out += StrCat(out.empty() ? "" : " ", one.GetString("path"));
    return out;
  }
};

TEST_F(ModelsTest, FromARun) {
  RunWithFiles("r", {"outputs/model.pkl", "outputs/m/a", "outputs/m/sub/b", "outputs/mx", "logs/l"});
  auto made = Register(R"("name":"m","run":"r","path":"./outputs/model.pkl")");
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(Good(made).GetString("experiment"), "e");
  EXPECT_EQ(Good(made).GetString("user"), "carl");
  EXPECT_EQ(Paths("m"), "model.pkl");
  Json folder = Good(Register(R"("name":"m","run":"r","path":"outputs/m/")"));
  EXPECT_EQ(folder.GetInt("version"), 2);
  EXPECT_EQ(folder.GetInt("file_count"), 2);
  EXPECT_EQ(folder.GetInt("size"), 11 + 15);
  EXPECT_EQ(Paths("m"), "m/a m/sub/b");
  EXPECT_EQ(Paths("m:1"), "model.pkl");
  Good(Register(R"("name":"m","run":"r","path":"outputs")"));
  EXPECT_EQ(Paths("m"), "outputs/m/a outputs/m/sub/b outputs/model.pkl outputs/mx");

  auto none = Register(R"("name":"m","run":"r","path":"outputs/none")");
  EXPECT_EQ(FieldOf(none), "404 model.path path");
  EXPECT_NE(none.body.find("it has: logs/l, outputs/m/a,"), std::string::npos) << none.body;
  Submit("bare");
  EXPECT_NE(Register(R"("name":"m","run":"bare","path":"outputs")").body.find("it has no files yet"), std::string::npos);
  for (const char* path : {"..", "/outputs", ".", "a/../b", "a//b", "/"})
    EXPECT_EQ(FieldOf(Register(StrCat(R"("name":"m","run":"r","path":")", path, "\""))), "400 model.path path") << path;
  EXPECT_EQ(FieldOf(Register(R"("name":"m","run":"none","path":"outputs")")), "404 run.not_found run");
  ASSERT_TRUE(engine_->DoAndWait(engine::CreateWorkspace{{"team", "", "", {}, {}}, true}).ok());
  EXPECT_EQ(FieldOf(Register(R"("name":"m","workspace":"team","run":"r","path":"outputs")")), "404 run.not_found run") << "it is another workspace's";
}

TEST_F(ModelsTest, FromFiles) {
  std::string large(6u << 20, 'x');
  Digest digest = AddLargeBlob(large);
  Json made = Good(Register(StrCat(R"("name":"m","files":[)", File("./b.txt", "content of b"), ",", File("sub/a b.txt", ""), R"(,{"path":"large","digest":")",
                                   digest.Hex(), R"(","size":)", large.size(), "}]")));
  EXPECT_EQ(made.GetInt("file_count"), 3);
  EXPECT_TRUE(made.Find("run")->is_null());
  EXPECT_EQ(Ask(reader_, "GET", "/api/v1/models/m/files/b.txt").body, "content of b");
  EXPECT_EQ(Ask(reader_, "GET", "/api/v1/models/m:1/files/sub/a%20b.txt").body, "");
  EXPECT_EQ(Ask(reader_, "GET", "/api/v1/models/m/files/large").body, large);
  auto part = Ask(reader_, "GET", "/api/v1/models/m/files/b.txt", {}, {{"range", "bytes=8-9"}});
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "of");
  EXPECT_EQ(ErrorOf(Ask(reader_, "GET", "/api/v1/models/m/files/b.txt", {}, {{"range", "bytes=99-"}})), "416 range.unsatisfiable");
  EXPECT_EQ(FieldOf(Ask(reader_, "GET", "/api/v1/models/m/files/none")), "404 model.file_not_found path");
  EXPECT_EQ(ErrorOf(Ask(reader_, "GET", "/api/v1/models/m/files/b.txt?version=2")), "404 model.not_found");

  auto with = [&](const std::string& files) { return FieldOf(Register(StrCat(R"("name":"m","files":)", files))); };
  EXPECT_EQ(with("[]"), "400 model.files files");
  EXPECT_EQ(with("{}"), "400 model.files files");
  EXPECT_EQ(with("[7]"), "400 model.files files[0].path");
  EXPECT_EQ(with(StrCat("[", File("a", "x"), ",", File("a", "y"), "]")), "400 model.files files[1].path");
  EXPECT_EQ(with(StrCat("[", File("a", "x"), ",", File("a/b", "y"), "]")), "400 model.files files");
  EXPECT_EQ(with(StrCat("[", File("../a", "x"), "]")), "400 model.files files[0].path");
  EXPECT_EQ(with(R"([{"path":"a","digest":"x","size":1}])"), "400 model.files files[0].digest");
  EXPECT_EQ(with(StrCat(R"([{"path":"a","digest":")", std::string(64, '0'), R"(","size":1}])")), "404 blob.not_found files[0].digest");
  EXPECT_EQ(with(StrCat(R"([{"path":"a","digest":")", digest.Hex(), R"(","size":1}])")), "400 model.files files[0].size");
  EXPECT_EQ(with(StrCat(R"([{"path":"a","digest":")", digest.Hex(), R"("}])")), "400 model.files files[0].size");
  EXPECT_EQ(Ids(""), "m:1") << "nothing is registered of what was refused";
}

TEST_F(ModelsTest, WrongFieldsAreNamed) {
  std::string file = StrCat(R"("files":[)", File("a", "x"), "]");
  for (const auto& [fields, expected] : std::vector<std::pair<std::string, std::string>>{
           {file, "400 name.invalid name"},
           {R"("name":"a b",)" + file, "400 name.invalid name"},
           {R"("name":"a:1",)" + file, "400 name.invalid name"},
           {R"("name":7,)" + file, "400 field.type name"},
           {StrCat(R"("name":")", std::string(256, 'a'), "\",", file), "400 name.invalid name"},
           {R"("name":"m")", "400 model.path_or_files path"},
           {R"("name":"m","path":"outputs",)" + file, "400 model.path_or_files files"},
           {R"("name":"m","path":"outputs")", "400 model.path run"},
           {R"("name":"m","path":7)", "400 field.type path"},
           {R"("name":"m","workspace":"none",)" + file, "404 workspace.not_found workspace"},
           {R"("name":"m","workspace":"a/b",)" + file, "400 name.invalid workspace"},
           {R"("name":"m","nmae":"x",)" + file, "400 field.unknown nmae"},
           {R"("name":"m","tags":["a"],)" + file, "400 field.type tags"},
           {R"("name":"m","tags":{"a":{}},)" + file, "400 field.type tags.a"},
           {R"("name":"m","properties":"a",)" + file, "400 field.type properties"},
           {R"("name":"m","description":7,)" + file, "400 field.type description"},
           {StrCat(R"("name":"m","description":")", std::string(65537, 'a'), "\",", file), "413 field.too_long description"},
           {StrCat(R"("name":"m","framework":")", std::string(256, 'a'), "\",", file), "413 field.too_long framework"},
           {R"("name":"m","framework_version":1.2,)" + file, "400 field.type framework_version"},
           {R"("name":"m","experiment":"a b",)" + file, "400 name.invalid experiment"},
           {R"("name":"m","datasets":{},)" + file, "400 field.type datasets"},
           {R"("name":"m","datasets":[["training"]],)" + file, "400 model.datasets datasets[0]"},
           {R"("name":"m","datasets":[["training","x"]],)" + file, "400 dataset.id datasets[0]"},
           {R"("name":"m","datasets":[["training","00000000-0000-0000-0000-000000000000"]],)" + file, "404 dataset.not_found datasets[0]"},
           {R"("name":"m","sample_input_dataset":"x",)" + file, "400 dataset.id sample_input_dataset"},
           {R"("name":"m","sample_output_dataset":"00000000-0000-0000-0000-000000000000",)" + file, "404 dataset.not_found sample_output_dataset"},
           {R"("name":"m","resources":[],)" + file, "400 field.type resources"},
           {R"("name":"m","resources":{"cpu":-1},)" + file, "400 model.resources resources.cpu"},
           {R"("name":"m","resources":{"memory_in_gb":"x"},)" + file, "400 model.resources resources.memory_in_gb"},
           {R"("name":"m","resources":{"gpu":0.5},)" + file, "400 model.resources resources.gpu"},
           {R"("name":"m","resources":{"tpu":1},)" + file, "400 field.unknown resources.tpu"},
       })
    EXPECT_EQ(FieldOf(Register(fields)), expected) << fields.substr(0, 300);
  EXPECT_EQ(ErrorOf(Ask(reader_, "POST", "/api/v1/models", StrCat(R"({"name":"m",)", file, "}"))), "403 auth.forbidden");
  EXPECT_EQ(ErrorOf(Ask(contributor_, "POST", "/api/v1/models", "[]")), "400 body.not_object");
  EXPECT_EQ(ErrorOf(Ask(contributor_, "POST", "/api/v1/models", "{")), "400 json.malformed");
  EXPECT_EQ(Ids(""), "");
}

TEST_F(ModelsTest, ListShowUpdateDelete) {
  std::string id = Good(Save(Data("http://h/a"))).GetString("id");
  std::string file = StrCat(R"(,"files":[)", File("a", "x"), "]");
  Submit("r");
  Good(Register(R"("name":"a","tags":{"team":"vision","k":"a,b=c"},"properties":{"p":"1"})" + file));
  Good(Register(R"("name":"b","framework":"Onnx","framework_version":"1.2","tags":{"team":"text"})" + file));
  Good(Register(StrCat(R"("name":"a","run":"r","datasets":[["training",")", id, R"("],["test",")", id, R"("]],"sample_input_dataset":")", id, "\"", file)));
  EXPECT_EQ(Ids(""), "a:2 b:1 a:1");
  EXPECT_EQ(Ids("latest=true"), "a:2 b:1");
  EXPECT_EQ(Ids("name=a"), "a:2 a:1");
  EXPECT_EQ(Ids("name=a&latest=true"), "a:2");
  EXPECT_EQ(Ids("run=r"), "a:2");
  EXPECT_EQ(Ids("framework=Onnx"), "b:1");
  EXPECT_EQ(Ids("tag=team"), "b:1 a:1");
  EXPECT_EQ(Ids("tag=team%3Dvision"), "a:1");
  EXPECT_EQ(Ids("tag=team%3Dvision&tag=k%3Da,b%3Dc"), "a:1");
  EXPECT_EQ(Ids("tag=team%3Dvision&tag=none"), "");
  EXPECT_EQ(Ids("property=p%3D1&tag=team"), "a:1");
  EXPECT_EQ(Ids("dataset=" + id), "a:2");
  EXPECT_EQ(Ids("workspace=other"), "");
  Json page = Get("/api/v1/models?limit=2");
  EXPECT_EQ(Ids(StrCat("limit=2&cursor=", EncodePercent(page.GetString("next")))), "a:1");
  EXPECT_EQ(ErrorOf(Ask(reader_, "GET", "/api/v1/models?latest=1")), "400 parameter.invalid");
  EXPECT_EQ(ErrorOf(Ask(reader_, "GET", "/api/v1/models?limit=0")), "400 parameter.invalid");
  EXPECT_EQ(ErrorOf(Ask(reader_, "GET", "/api/v1/models?cursor=x")), "400 query.bad_cursor");

  EXPECT_EQ(Get("/api/v1/models/a").GetInt("version"), 2);
  EXPECT_EQ(Get("/api/v1/models/a?version=latest").GetInt("version"), 2);
  EXPECT_EQ(Get("/api/v1/models/a?version=1").GetInt("version"), 1);
  EXPECT_EQ(Get("/api/v1/models/a:1").GetInt("version"), 1);
  EXPECT_EQ(FieldOf(Ask(reader_, "GET", "/api/v1/models/a?version=3")), "404 model.not_found name");
  EXPECT_EQ(FieldOf(Ask(reader_, "GET", "/api/v1/models/c")), "404 model.not_found name");
  EXPECT_EQ(FieldOf(Ask(reader_, "GET", "/api/v1/models/a?version=x")), "400 asset.version version");
  EXPECT_EQ(FieldOf(Ask(reader_, "GET", "/api/v1/models/a%2Fb")), "400 name.invalid name");

  auto change = [&](const std::string& body, const std::string& name = "a:1") { return Ask(contributor_, "PATCH", "/api/v1/models/" + name, body); };
  Json changed = Good(change(StrCat(R"({"description":"d","set_tags":{"x":1},"remove_tags":["k"],"add_properties":{"q":"2"},"framework":"Custom",
                                       "resources":{"cpu":1,"gpu":null},"add_datasets":[["training",")",
                                    id, "\"]]}")));
  EXPECT_EQ(changed.Find("tags")->Dump(), R"({"team":"vision","x":"1"})");
  EXPECT_EQ(changed.Find("resources")->Dump(), R"({"cpu":1.0,"memory_in_gb":null,"gpu":null})");
  EXPECT_EQ(Ids("dataset=" + id), "a:2 a:1");
  EXPECT_EQ(Good(change(R"({"framework":null})")).Find("framework")->is_null(), true);
  EXPECT_EQ(FieldOf(change(R"({"add_properties":{"q":"3"}})")), "409 property.immutable add_properties.q");
  EXPECT_EQ(FieldOf(change(R"({"tags":{}})")), "400 field.unknown tags");
  EXPECT_EQ(FieldOf(change(R"({"remove_tags":"k"})")), "400 field.type remove_tags");
  EXPECT_EQ(FieldOf(change("{}", "none")), "404 model.not_found name");
  EXPECT_EQ(ErrorOf(Ask(reader_, "PATCH", "/api/v1/models/a", "{}")), "403 auth.forbidden");

  auto remove = [&](const std::string& what) { return Ask(contributor_, "DELETE", "/api/v1/models/" + what); };
  EXPECT_EQ(FieldOf(remove("a")), "400 model.version version");
  EXPECT_EQ(FieldOf(remove("a?version=latest")), "400 model.version version");
  EXPECT_EQ(ErrorOf(Ask(reader_, "DELETE", "/api/v1/models/a:1")), "403 auth.forbidden");
  EXPECT_EQ(Good(remove("a?version=2")).Dump(), R"({"id":"a:2","name":"a","version":2})");
  EXPECT_EQ(ErrorOf(remove("a:2")), "404 model.not_found");
  EXPECT_EQ(Ids("latest=true"), "b:1 a:1");
  EXPECT_EQ(Get("/api/v1/models/a").GetInt("version"), 1);
  EXPECT_EQ(Good(Register(R"("name":"a")" + file)).GetInt("version"), 3);
}

TEST_F(ModelsTest, ARunRegistersWhatItMade) {
  RunWithFiles("r", {"outputs/m"});
  std::string token = access_->RunToken({"r", 1});
  auto made = Ask(token, "POST", "/api/v1/models", R"({"name":"m","run":"r","path":"outputs/m"})");
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(Ask(token, "GET", "/api/v1/models/m/files/m").body, "outputs/m");
  std::string id = Good(Ask(token, "POST", "/api/v1/datasets", StrCat("{", Data("http://h/a"), "}"))).GetString("id");
  EXPECT_EQ(Ask(token, "GET", "/api/v1/datasets/by-id/" + id).status, 200);
}

TEST_F(ModelsTest, DatasetsSaveShowList) {
  auto saved = Save(Data("http://h/a"));
  EXPECT_EQ(saved.status, 201) << saved.body;
  std::string id = Good(saved).GetString("id");
  EXPECT_EQ(Good(saved).GetString("name"), "");
  uint64_t inputs = engine_->counts().inputs;
  auto again = Save(Data("http://h/a"));
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(Good(again).GetString("id"), id);
  EXPECT_EQ(engine_->counts().inputs, inputs) << "what is there already does not reach the engine";
  EXPECT_EQ(Names(""), "") << "it has no name";

  auto first = Save(R"("name":"my data","tags":{"a":"b"},"description":"x",)" + Data("http://h/a"));
  EXPECT_EQ(first.status, 201) << first.body;
  inputs = engine_->counts().inputs;
  EXPECT_EQ(Save(R"("name":"my data",)" + Data("http://h/a")).status, 200);
  EXPECT_EQ(engine_->counts().inputs, inputs);
  EXPECT_EQ(FieldOf(Save(R"("name":"my data",)" + Data("http://h/b"))), "409 dataset.exists name");
  EXPECT_EQ(Good(Save(R"("name":"my data","create_new_version":true,)" + Data("http://h/b"))).GetInt("version"), 2);
  Good(Save(R"("name":"another","tags":{"a":"b"},)" + Data("http://h/a")));
  EXPECT_EQ(Names(""), "another:1 my data:2");
  EXPECT_EQ(Names("name=my+data"), "my data:2");
  EXPECT_EQ(Names("tag=a%3Db"), "another:1");
  EXPECT_EQ(Names("workspace=other"), "");
  Json page = Get("/api/v1/datasets?limit=1");
  EXPECT_EQ(Names("cursor=" + EncodePercent(page.GetString("next"))), "my data:2");

  Json one = Get("/api/v1/datasets/my%20data?version=1");
  EXPECT_EQ(one.GetString("description"), "x");
  EXPECT_EQ(one.Find("definition")->Dump(), R"({"paths":[{"url":"http://h/a"}]})");
  EXPECT_EQ(Get("/api/v1/datasets/by-id/" + one.GetString("id")), one);
  EXPECT_EQ(Get("/api/v1/datasets/my%20data").GetInt("version"), 2);
  EXPECT_EQ(Get("/api/v1/datasets/my%20data:1").GetInt("version"), 1);
  Json versions = Get("/api/v1/datasets/my%20data/versions");
  ASSERT_EQ(versions.Find("versions")->as_array().size(), 2u);
  EXPECT_EQ(versions.Find("versions")->as_array()[0].GetInt("version"), 2);
  EXPECT_EQ(FieldOf(Ask(reader_, "GET", "/api/v1/datasets/my%20data?version=3")), "404 dataset.not_found version");
  EXPECT_EQ(FieldOf(Ask(reader_, "GET", "/api/v1/datasets/none")), "404 dataset.not_found name");
  EXPECT_EQ(FieldOf(Ask(reader_, "GET", "/api/v1/datasets/none/versions")), "404 dataset.not_found name");
  EXPECT_EQ(FieldOf(Ask(reader_, "GET", "/api/v1/datasets/by-id/none")), "400 dataset.id id");
  EXPECT_EQ(FieldOf(Ask(reader_, "GET", "/api/v1/datasets/by-id/00000000-0000-0000-0000-000000000000")), "404 dataset.not_found id");

  auto change = [&](const std::string& body) { return Ask(contributor_, "PATCH", "/api/v1/datasets/my%20data", body); };
  Json changed = Good(change(StrCat(R"({"set_tags":{"k":"v"},"archived":true,"deprecated_by":")", id, "\"}")));
  EXPECT_EQ(changed.GetString("deprecated_by"), id);
  EXPECT_EQ(Names(""), "another:1");
  EXPECT_EQ(Names("archived=true"), "my data:2");
  EXPECT_EQ(Names("archived=any"), "another:1 my data:2");
  EXPECT_EQ(ErrorOf(Ask(reader_, "GET", "/api/v1/datasets?archived=maybe")), "400 parameter.invalid");
  EXPECT_TRUE(Good(change(R"({"archived":false,"deprecated_by":null})")).Find("deprecated_by")->is_null());
  EXPECT_EQ(FieldOf(change(R"({"archived":"yes"})")), "400 field.type archived");
  EXPECT_EQ(FieldOf(change(R"({"deprecated_by":"x"})")), "400 dataset.id deprecated_by");
  EXPECT_EQ(FieldOf(change(R"({"definition":{}})")), "400 field.unknown definition");

  EXPECT_EQ(FieldOf(Ask(contributor_, "DELETE", "/api/v1/datasets/my%20data?version=1")), "400 dataset.version version");
  EXPECT_EQ(Good(Ask(contributor_, "DELETE", "/api/v1/datasets/my%20data")).GetInt("versions"), 2);
  EXPECT_EQ(ErrorOf(Ask(contributor_, "DELETE", "/api/v1/datasets/my%20data")), "404 dataset.not_found");
  EXPECT_EQ(ErrorOf(Ask(reader_, "GET", "/api/v1/datasets/my%20data?version=1")), "404 dataset.not_found");
  EXPECT_EQ(Get("/api/v1/datasets/by-id/" + one.GetString("id")).GetString("name"), "my data");
  EXPECT_EQ(Names("archived=any"), "another:1");
  EXPECT_EQ(Good(Save(R"("name":"my data",)" + Data("http://h/a"))).GetInt("version"), 3);
  EXPECT_EQ(ErrorOf(Ask(reader_, "GET", "/api/v1/datasets/my%20data?version=1")), "404 dataset.not_found") << "it does not come back with its name";
  EXPECT_EQ(Get("/api/v1/datasets/my%20data/versions").Find("versions")->as_array().size(), 1u);
}

TEST_F(ModelsTest, WrongDatasetsAreNamed) {
  std::string data = Data("http://h/a");
  for (const auto& [fields, expected] : std::vector<std::pair<std::string, std::string>>{
           {"", "400 dataset.type type"},
           {R"("type":"Image")", "400 dataset.type type"},
           {R"("type":"File")", "400 field.missing definition"},
           {R"("type":"File","definition":{})", "400 dataset.definition definition.paths"},
           {R"("type":"File","definition":{"paths":[{"datastore":"none","path":""}]})", "404 datastore.not_found definition.paths[0].datastore"},
           {R"("type":"File","definition":{"paths":[{"datastore":"workspaceblobstore","path":"/a"}]})", "400 dataset.definition definition.paths[0].path"},
           {R"("name":"a/b",)" + data, "400 dataset.name name"},
           {R"("name":7,)" + data, "400 field.type name"},
           {R"("workspace":"none",)" + data, "404 workspace.not_found workspace"},
           {R"("create_new_version":"yes",)" + data, "400 field.type create_new_version"},
           {R"("tags":[],)" + data, "400 field.type tags"},
           {R"("description":[],)" + data, "400 field.type description"},
           {R"("defintion":{},)" + data, "400 field.unknown defintion"},
       })
    EXPECT_EQ(FieldOf(Save(fields)), expected) << fields;
  EXPECT_EQ(ErrorOf(Ask(reader_, "POST", "/api/v1/datasets", StrCat("{", data, "}"))), "403 auth.forbidden");
  for (const char* own : {"workspaceblobstore", "workspacefilestore", "workspaceworkingdirectory", "workspaceartifactstore"})
    EXPECT_EQ(Save(StrCat(R"("type":"File","definition":{"paths":[{"datastore":")", own, R"(","path":"a/*"}]})")).status, 201) << own;
}

}  // namespace
}  // namespace ferry::rest

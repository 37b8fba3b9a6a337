"""The server's datastores, datasets and models in memory, behind the client's methods."""

import hashlib
import json
import os
import urllib.parse
import uuid

from ferry.client import Conflict, NotFound, Refused

NOW = "2026-01-02T03:04:05.678Z"
OWN = {"workspaceblobstore": "own", "workspacefilestore": "own", "workspaceworkingdirectory": "own", "workspaceartifactstore": "artifacts"}


class FakeClient:
    url = "http://fake"

    def __init__(self):
        self.stores = {n: {"name": n, "kind": k, "type": "AzureFile" if n == "workspacefilestore" else "AzureBlob", "azure": {}, "tags": {},
                           "default": n == "workspaceblobstore"} for n, k in OWN.items()}
        self.files = {n: {} for n in OWN}
        self.blobs, self.datasets, self.models, self.requests = {}, [], [], []

    def _cut(self, path):
        return [urllib.parse.unquote(part) for part in path.strip("/").split("/")]

    def get(self, path, **query):
        self.requests.append(("GET", path, query))
        return json.loads(json.dumps(self._get(self._cut(path), query)))

    def _store(self, name):
        if name not in self.stores:
            raise NotFound(f"there is no datastore '{name}'", 404, "datastore.not_found")
        return self.stores[name]

    def _get(self, parts, query):
        if parts == ["datastores"]:
            return {"datastores": list(self.stores.values())}
        if parts[0] == "datastores" and len(parts) == 2:
            return self._store(parts[1])
        if parts[0] == "datastores" and parts[2:] == ["files"]:
            self._store(parts[1])
            found = [{"path": p, "size": len(b), "modified": NOW} for p, b in sorted(self.files[parts[1]].items()) if p.startswith(query.get("prefix", ""))]
            start, limit = int(query.get("cursor", 0)), int(query.get("limit", 3))
            return {"files": found[start:start + limit], **({"next": str(start + limit)} if start + limit < len(found) else {})}
        if parts == ["datasets"]:
            return {"datasets": [self._latest(n) for n in sorted({d["name"] for d in self.datasets if d["name"]})]}
        if parts[:2] == ["datasets", "by-id"]:
            return self._one([d for d in self.datasets if d["id"] == parts[2]])
        if parts[0] == "datasets":
            named = [d for d in self.datasets if d["name"] == parts[1]]
            return self._one([d for d in named if str(d["version"]) == str(query["version"])] if "version" in query else named[-1:])
        if parts == ["models"]:
            return {"models": [self._model(m) for m in reversed(self.models) if self._fits(m, query)]}
        if parts[0] == "models" and len(parts) == 2:
            named = [m for m in self.models if m["name"] == parts[1] and str(m["version"]) == str(query.get("version", m["version"]))]
            return self._model(self._one(named[-1:]))
        if parts[0] == "models":
            return {"files": self._one([m for m in self.models if m["name"] == parts[1] and m["version"] == query["version"]])["files"]}
        raise AssertionError(parts)

    def _fits(self, m, query):
        for key, where in (("tag", "tags"), ("property", "properties")):
            for item in query.get(key, ()):
                name, sign, value = item.partition("=")
                if name not in m[where] or (sign and m[where][name] != value):
                    return False
        latest = max(o["version"] for o in self.models if o["name"] == m["name"])
        return query.get("name") in (None, m["name"]) and query.get("run") in (None, m.get("run")) and \
            query.get("framework") in (None, m.get("framework")) and (not query.get("latest") or m["version"] == latest)

    def _model(self, m):
        return {k: v for k, v in m.items() if k != "files"}

    def _one(self, found):
        if not found:
            raise NotFound("it is not there", 404, "x.not_found")
        return found[0]

    def _latest(self, name):
        return [d for d in self.datasets if d["name"] == name][-1]

    def pages(self, path, key, **query):
        while True:
            page = self.get(path, **query)
            yield from page[key]
            if not page.get("next"):
                return
            query["cursor"] = page["next"]

    def post(self, path, body=None, repeat=False, **query):
        body = json.loads(json.dumps(body))
        self.requests.append(("POST", path, body))
        parts = self._cut(path)
        if parts[0] == "datastores" and parts[2:] == ["default"]:
            for store in self.stores.values():
                store["default"] = store["name"] == parts[1]
            return {}
        if parts[0] == "datastores":
            for file in body["files"]:
                if file["path"] in self.files[parts[1]] and not body["overwrite"]:
                    raise Conflict(f"there is a file '{file['path']}'", 409, "file.exists")
                self.files[parts[1]][file["path"]] = self.blobs[file["digest"]]
            return {}
        if parts == ["datasets"]:
            return self._add_dataset(body)
        if parts == ["models"]:
            version = 1 + max([m["version"] for m in self.models if m["name"] == body["name"]], default=0)
            model = dict(body, version=version, id=f"{body['name']}:{version}", created=NOW, modified=NOW, user="admin")
            self.models.append(model)
            return self._model(model)
        raise AssertionError(path)

    def _add_dataset(self, body):
        same = [d for d in self.datasets if d["definition"] == body["definition"] and d["name"] == body.get("name", "")]
        named = [d for d in self.datasets if body.get("name") and d["name"] == body["name"]]
        if body.get("name") and named and (named[-1]["definition"] == body["definition"]):
            return named[-1]
        if named and not body.get("create_new_version"):
            raise Conflict("another one has this name", 409, "dataset.exists")
        if not body.get("name") and same:
            return same[0]
        made = {"id": str(uuid.uuid4()), "name": body.get("name", ""), "version": len(named) + 1, "type": body["type"], "definition": body["definition"],
                "description": body.get("description", ""), "tags": body.get("tags", {}), "created": NOW}
        self.datasets.append(made)
        return made

    def put(self, path, body, **query):
        name = self._cut(path)[1]
        if body["kind"] == "folder" and not os.path.isdir(body["folder"]):
            raise Refused(f"folder '{body['folder']}' is not there", 400, "datastore.folder", "folder")
        if name in self.stores and not body["overwrite"]:
            raise Conflict(f"there is a datastore '{name}'", 409, "datastore.exists")
        self.stores[name] = dict({k: v for k, v in body.items() if k != "secret_key"}, name=name, type="AzureBlob", default=False)
        self.files.setdefault(name, {})
        return self.stores[name]

    def patch(self, path, body, **query):
        parts = self._cut(path)
        where = self.models if parts[0] == "models" else self.datasets
        item = self._one([i for i in where if i["name"] == parts[1] and i["version"] == query["version"]])
        item["tags"] = {k: v for k, v in {**item["tags"], **body.get("set_tags", {})}.items() if k not in body.get("remove_tags", ())}
        if "add_properties" in body:
            item["properties"].update(body["add_properties"])
        for key in ("description", "datasets", "resources", "sample_input_dataset"):
            if key in body:
                item[key] = body[key]
        return json.loads(json.dumps(item))

    def delete(self, path, **query):
        parts = self._cut(path)
        if parts[0] == "datastores":
            del self.stores[parts[1]]
        elif parts[0] == "datasets":
            for d in self.datasets:
                d["name"] = "" if d["name"] == parts[1] else d["name"]
        else:
            self.models = [m for m in self.models if (m["name"], m["version"]) != (parts[1], query["version"])]
        return {}

    def download(self, path, target, **query):
        parts = self._cut(path)
        name = "/".join(parts[3:])
        if parts[0] == "models":
            model = self._one([m for m in self.models if m["name"] == parts[1] and m["version"] == query["version"]])
            data = self.blobs[self._one([f for f in model["files"] if f["path"] == name])["digest"]]
        else:
            data = self.files[parts[1]][name]
        os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
        with open(target, "wb") as file:
            file.write(data)

    def upload(self, path, source, **query):
        parts = self._cut(path)
        self.files[parts[1]]["/".join(parts[3:])] = source.read()
        return {}

    def put_blobs(self, sources, progress=None):
        found = []
        for source in sources:
            with open(source, "rb") as file:
                data = file.read()
            digest = hashlib.sha256(data).hexdigest()
            self.blobs[digest] = data
            found.append((digest, len(data)))
        return found


class FakeWorkspace:
    name = "default"

    def __init__(self):
        self._client = FakeClient()

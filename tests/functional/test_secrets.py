"""Secrets: what a workspace keeps for its users and runs, sealed at rest."""

import base64
import os


def test_a_secret_is_nowhere_but_sealed(ferry):
    value = "correct-horse-battery-staple-4711"
    assert ferry.api("PUT", "/api/v1/secrets/db", {"value": value, "content_type": "text/plain"}).status == 201
    assert ferry.get("/secrets/db")["value"] == value
    refused = ferry.api("PUT", "/api/v1/secrets/db", {"value": [value]})
    assert refused.status == 400 and value not in refused.raw.decode()
    ferry.kill_server()
    ferry.start()
    assert ferry.get("/secrets/db")["value"] == value
    ferry.stop()
    needles = [value.encode(), base64.b64encode(value.encode()).rstrip(b"="), value.encode().hex().encode()]
    seen = 0
    for folder, _, names in os.walk(ferry.home):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    content = file.read()
                seen += 1
                for needle in needles:
                    assert needle not in content, path
    assert seen > 3
    ferry.start()


def test_a_script_reads_the_secret_with_its_own_token(shared):
    shared.api("PUT", "/api/v1/secrets/for-runs", {"value": "open sesame"})
    run = shared.submit_python("""if True:
        import json, os, urllib.request

        request = urllib.request.Request(os.environ["FERRY_URL"] + "/api/v1/secrets/for-runs")
        request.add_header("Authorization", "Bearer " + os.environ["AZUREML_RUN_TOKEN"])
        print(len(json.load(urllib.request.urlopen(request))["value"]))
    """)
    shared.wait(run, "Completed")
    assert shared.output(run).strip() == b"11"
    assert "open sesame" not in shared.api("GET", "/api/v1/secrets").raw.decode()
    assert shared.api("DELETE", "/api/v1/secrets/for-runs").status == 200
    assert shared.api("GET", "/api/v1/secrets/for-runs").status == 404

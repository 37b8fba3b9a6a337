"""Runs that their client drives: on no node, until it says how they ended."""

import os


def start(ferry, **fields):
    answer = ferry.post("/runs", dict({"experiment": "driven", "interactive": True}, **fields))
    assert answer["status"] == "Running"
    return answer["id"]


def log(ferry, run, metric, *values, **options):
    ferry.post("/runs/%s/metrics" % run, {"points": [{"metric": metric, "value": value, "step": step} for step, value in enumerate(values)]}, **options)


def test_from_the_beginning_to_the_end(shared):
    run = start(shared, tags={"a": "1"}, description="by hand")
    log(shared, run, "loss", 0.5, 0.25)
    view = shared.show(run)
    assert view["status"] == "Running" and view["started"] and not view["ended"] and "node" not in view
    assert [stage["name"] for stage in view["stages"]] == ["Running"]
    assert shared.post("/runs/%s/complete" % run) == {"id": run, "status": "Completed"}
    view = shared.show(run)
    assert view["ended"] >= view["started"] and view["end"]["reason"] == "completed_by_user"
    assert shared.metrics(run) == {"loss": [0.5, 0.25]}
    assert b"event: end" in shared.api("GET", "/api/v1/runs/%s/events?metrics=1" % run).raw


def test_its_client_fails_or_cancels_it(shared):
    run = start(shared)
    shared.post("/runs/%s/fail" % run, {"message": "the data are gone", "code": "NoData"})
    end = shared.show(run)["end"]
    assert end == {"reason": "failed_by_user", "text": "the run was failed by its user: the data are gone", "detail": "the data are gone", "code": "NoData"}
    other = start(shared)
    assert shared.post("/runs/%s/cancel" % other)["status"] == "Canceled"


def test_killing_the_server_takes_nothing_from_it(ferry):
    run, failed = start(ferry), start(ferry)
    log(ferry, run, "loss", 3, 2, 1)
    ferry.api("PATCH", "/api/v1/runs/" + run, {"tags": {"seen": "yes"}})
    ferry.post("/runs/%s/fail" % failed, {"message": "no"})
    ferry.kill_server()
    ferry.start()
    view = ferry.show(run)
    assert view["status"] == "Running" and view["tags"] == {"seen": "yes"} and view["attempt"] == 1
    assert ferry.metrics(run) == {"loss": [3, 2, 1]}
    assert ferry.status(failed) == "Failed"
    log(ferry, run, "loss", 0)
    ferry.post("/runs/%s/complete" % run)
    ferry.kill_server()
    ferry.start()
    assert ferry.status(run) == "Completed" and ferry.metrics(run) == {"loss": [3, 2, 1, 0]}


def test_it_takes_no_slot_and_outlives_the_agent(ferry):
    runs = [start(ferry) for _ in range(20)]
    scripted = ferry.submit("true")
    ferry.wait(scripted, "Completed")
    ferry.kill_agent()
    ferry.wait(ferry.submit("true"), "Completed")
    assert {ferry.status(run) for run in runs} == {"Running"}
    assert ferry.get("/nodes")["nodes"][0]["running"] == 0


def test_failing_a_scripted_run_stops_it(shared):
    run = shared.submit_python("import time; print('up', flush=True); time.sleep(600)")
    shared.wait_output(run, "up")
    script = shared.supervisor_of(run)["script"]
    shared.post("/runs/%s/fail" % run, {"message": "diverged"})
    view = shared.wait(run, "Failed")
    assert view["end"]["reason"] == "failed_by_user" and view["end"]["detail"] == "diverged" and view["attempt"] == 1
    assert not os.path.exists("/proc/%d" % script)


def test_a_script_drives_children_with_its_own_token(shared):
    run = shared.submit_python("""if True:
        import json, os, urllib.request

        def ask(method, path, body=None):
            request = urllib.request.Request(os.environ["FERRY_URL"] + "/api/v1" + path, method=method, data=None if body is None else json.dumps(body).encode())
            request.add_header("Authorization", "Bearer " + os.environ["AZUREML_RUN_TOKEN"])
            return json.load(urllib.request.urlopen(request))

        me = os.environ["AZUREML_RUN_ID"]
        for i in range(3):
            child = ask("POST", "/runs", {"experiment": os.environ["AZUREML_ARM_PROJECT_NAME"], "interactive": True, "parent": me})["id"]
            ask("POST", "/runs/%s/metrics" % child, {"points": [{"metric": "i", "value": i}]})
            ask("POST", "/runs/%s/complete" % child, {})
        print([r["status"] for r in ask("GET", "/runs?parent=" + me)["runs"]])
    """)
    shared.wait(run, "Completed")
    assert b"['Completed', 'Completed', 'Completed']" in shared.output(run)
    assert {view["user"] for view in shared.get("/runs?parent=" + run)["runs"]} == {"admin"}

"""Pages of 100,000 runs: the first, and filtered ones."""

import os
import urllib.parse

from support import ferry, filled

TITLE = "first page and filtered pages of 100,000 runs"
PAGES = [
    ("first page of 50", ""),
    ("status Canceled", "status=Canceled"),
    ("status Completed: the 1,000 oldest", "status=Completed"),
    ("experiment", "experiment=experiment7"),
    ("tag of every tenth run", "tag=team=team3"),
    ("tag of every 200th run", "tag=batch=batch77"),
    ("parameter of every 200th run", "filter=params.lr = '0.101'"),
    ("parameter of one run", "filter=params.seed = '0000777'"),
    ("metric of one in a hundred", "filter=metrics.loss < 0.01"),
    ("metric of half", "filter=metrics.loss.min > 0.5"),
    ("status, tag and metric", "status=Canceled&filter=tags.team = 'team3' and metrics.loss < 0.1"),
    ("ordered by a metric", "order=metrics.loss"),
    ("nothing matches", "filter=tags.team = 'none'"),
    ("grouped by status", "group=status"),
]


def run(bench):
    server = bench.keep(ferry.Server(filled.home(os.path.join(bench.folder, "home")), ["--agent=false"]))
    requests = bench.reps(60, 20)

    def page(query):
        fields = [tuple(part.split("=", 1)) for part in query.split("&")] if query else []
        path = "/api/v1/runs?" + urllib.parse.urlencode(fields)
        return lambda: server.load("GET", path, connections=1, requests=requests)
    subjects = {what: page(query) for what, query in PAGES}
    samples = bench.alternate(bench.reps(5, 3), subjects)
    for what, _ in PAGES:
        bench.row(f"{what}: p95", "ms", [s["p95"] * 1e3 for s in samples[what]], bar="p95 20 ms", limit=20, note=f"p50 {sorted(s['p50'] for s in samples[what])[len(samples[what]) // 2] * 1e3:.1f} ms")

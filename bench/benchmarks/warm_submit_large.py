"""A warm submission with a source folder of 10,000 files that has not changed."""

import os
import shutil
import subprocess
import time

from support import submit, tree

TITLE = "warm submission with an unchanged source folder of 10,000 files and 120 MB"


def run(bench):
    folder = tree.make(os.path.join(bench.folder, "source"))
    with open(os.path.join(folder, "first.py"), "w") as file:
        file.write(submit.FIRST)
    copy = os.path.join(bench.folder, "copy")
    server, subjects, _ = submit.subjects(bench, folder, own_only=True)
    plain = subjects["ferry"]
    trash = os.path.join(server.home, "agent", "trash")

    def cp():
        began = time.monotonic()
        subprocess.run(["cp", "-r", folder, copy], check=True, timeout=120)
        took = (time.monotonic() - began) * 1000
        # Neither the end of this copy nor that of the last run's is measured with what comes next.
        shutil.rmtree(copy)
        os.sync()
        until = time.monotonic() + 15
        while os.listdir(trash) and time.monotonic() < until:
            time.sleep(0.05)
        return took, took

    def straight_after():
        plain()
        return plain()

    def after_a_pause():
        time.sleep(2)
        return plain()
    subjects = {"cp -r": cp, "python": subjects["python"], "ferry": straight_after, "ferry after a pause": after_a_pause}
    samples = bench.alternate(bench.reps(12, 5), subjects, warm_up=2)
    base = samples["python"]
    peer = {"cp -r": [value[0] for value in samples["cp -r"]]}
    bench.row("one straight after another, to the script's own clock", "ms", submit.over(samples["ferry"], base, 0), peer, bar="+300 ms", limit=300)
    bench.row("2 s after the last, to the script's own clock", "ms", submit.over(samples["ferry after a pause"], base, 0), peer, bar="+300 ms", limit=300)
    bench.row("2 s after the last, to the line on the command's output", "ms", submit.over(samples["ferry after a pause"], base, 1), peer)

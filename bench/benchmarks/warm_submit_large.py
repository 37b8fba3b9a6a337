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

    def cp():
        shutil.rmtree(copy, ignore_errors=True)
        began = time.monotonic()
        subprocess.run(["cp", "-r", folder, copy], check=True, timeout=120)
        return ((time.monotonic() - began) * 1000,) * 2

    _, subjects, _ = submit.subjects(bench, folder, own_only=True)
    plain = subjects["ferry"]

    def after_a_pause():
        # Longer than the agent needs to get ready for the next.
        time.sleep(2)
        return plain()
    subjects = {"python": subjects["python"], "ferry": plain, "ferry after a pause": after_a_pause, "cp -r": cp}
    samples = bench.alternate(bench.reps(12, 5), subjects, warm_up=2)
    base = samples["python"]
    peer = {"cp -r": [value[0] for value in samples["cp -r"]]}
    bench.row("one straight after another, to the script's own clock", "ms", submit.over(samples["ferry"], base, 0), peer, bar="+300 ms", limit=300)
    bench.row("2 s after the last, to the script's own clock", "ms", submit.over(samples["ferry after a pause"], base, 0), peer, bar="+300 ms", limit=300)
    bench.row("2 s after the last, to the line on the command's output", "ms", submit.over(samples["ferry after a pause"], base, 1), peer)

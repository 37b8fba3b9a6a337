"""A warm `ferry run submit-script` to the first line of the script, over starting the interpreter itself."""

import os

from support import submit

TITLE = "warm submission to the first line of the script, over starting the interpreter itself"


def run(bench):
    folder = os.path.join(bench.folder, "source")
    os.makedirs(folder)
    with open(os.path.join(folder, "first.py"), "w") as file:
        file.write(submit.FIRST)
    _, subjects, slow = submit.subjects(bench, folder)
    samples = bench.alternate(bench.reps(40, 10), subjects, warm_up=3, every=slow)
    base = samples.pop("python")
    mine = samples.pop("ferry")
    beat = {name: 1 for name in ("srun", "Metaflow run", "mlflow run", "ray job submit")}
    bench.row("to the script's own clock", "ms", submit.over(mine, base, 0), {name: submit.over(values, base, 0) for name, values in samples.items() if values},
              bar="+25 ms, p95 +50 ms, ahead of every peer", limit=25, limit_p95=50, beat=beat)
    bench.row("to the line on the command's output", "ms", submit.over(mine, base, 1), {name: submit.over(values, base, 1) for name, values in samples.items() if values})
    bench.row("`python first.py` itself, to its own clock", "ms", [value[0] for value in base], note="started directly; this is what is subtracted")

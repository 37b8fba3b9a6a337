"""Samples, rows and tables: what a benchmark measured, against its bar and its peers."""

import math


def quantile(samples, q):
    """The q-quantile by linear interpolation."""
    ordered = sorted(samples)
    place = (len(ordered) - 1) * q
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def summary(samples, better="less"):
    """p95: what 95 of 100 samples are not worse than."""
    tail = 0.95 if better == "less" else 0.05
    return {"n": len(samples), "median": quantile(samples, 0.5), "p95": quantile(samples, tail), "min": min(samples), "max": max(samples)}


def show(value, unit):
    """A number for people: three significant digits, thousands apart."""
    if value is None:
        return "-"
    size = abs(value)
    text = f"{value:,.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 0.1 or size == 0 else f"{value:.3f}"
    return f"{text} {unit}" if unit else text


class Row:
    """One line of a table.

    `better` is "less" or "more"; `limit` is what the median must not miss, `limit_p95` the same for the p95, and `beat` names the
    peers that Ferry must not be behind, each with the factor it must be ahead by.
    """

    def __init__(self, what, unit, ferry, peers=None, bar="", limit=None, limit_p95=None, better="less", beat=None, note=""):
        self.data = {
            "what": what, "unit": unit, "bar": bar, "limit": limit, "limit_p95": limit_p95, "better": better, "beat": beat or {}, "note": note,
            "ferry": summary(ferry, better) if ferry else None,
            "peers": {name: summary(samples, better) for name, samples in (peers or {}).items() if samples},
        }
        self.data["verdicts"] = verdicts(self.data)


def verdicts(row):
    """What is to be said about a row: missed bars, and peers that win."""
    said = []
    ferry, unit, less = row["ferry"], row["unit"], row["better"] == "less"
    if not ferry:
        return ["not measured"]

    def behind(a, b):
        return a > b if less else a < b

    if row["limit"] is not None and behind(ferry["median"], row["limit"]):
        said.append(f"MISSES its bar: median {show(ferry['median'], unit)}, bar {show(row['limit'], unit)}")
    if row["limit_p95"] is not None and behind(ferry["p95"], row["limit_p95"]):
        said.append(f"MISSES its bar: p95 {show(ferry['p95'], unit)}, bar {show(row['limit_p95'], unit)}")
    for name, factor in row["beat"].items():
        peer = row["peers"].get(name)
        if not peer:
            said.append(f"{name} was not measured")
        elif behind(ferry["median"], peer["median"] / factor if less else peer["median"] * factor):
            ahead = f"{factor:g} times " if factor != 1 else ""
            said.append(f"MISSES its bar: {ahead}ahead of {name}: {show(ferry['median'], unit)} against {show(peer['median'], unit)}")
    for name, peer in row["peers"].items():
        if name not in row["beat"] and behind(ferry["median"], peer["median"]):
            said.append(f"{name} wins: {show(peer['median'], unit)} against {show(ferry['median'], unit)}")
    return said


def table(result):
    """A result as Markdown."""
    rows = result["rows"]
    names = []
    for row in rows:
        names += [name for name in row["peers"] if name not in names]
    lines = [f"### {result['name']}: {result['title']}", ""]
    head = ["what", "bar", "Ferry median", "p95", "spread"] + names
    lines.append("| " + " | ".join(head) + " |")
    lines.append("|" + "---|" * len(head))
    for row in rows:
        ferry, unit = row["ferry"], row["unit"]
        cells = [row["what"], row["bar"]]
        if ferry:
            cells += [show(ferry["median"], unit), show(ferry["p95"], unit), f"{show(ferry['min'], '')} to {show(ferry['max'], '')} (n={ferry['n']})"]
        else:
            cells += ["-", "-", "-"]
        for name in names:
            peer = row["peers"].get(name)
            cells.append(f"{show(peer['median'], unit)} (n={peer['n']})" if peer else "")
        lines.append("| " + " | ".join(cells) + " |")
    lines.append("")
    for row in rows:
        lines += [f"- {row['what']}: {text}" for text in row["verdicts"]]
        if row["note"]:
            lines.append(f"- {row['what']}: {row['note']}")
    if not any(row["verdicts"] for row in rows):
        lines.append("- Every bar is met and no peer wins.")
    lines += [f"- {note}" for note in result["notes"]]
    machine = result["machine"]
    lines += ["", f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']:.0f} GB, {machine['system']}; commit {result['commit']}; {result['date']}; "
              + ", ".join(f"{name} {version}" for name, version in result["versions"].items())
              + f"; load {machine['load_before']:.1f} before and {machine['load_after']:.1f} after; {'quick' if result['quick'] else 'full'} run", ""]
    return "\n".join(lines)

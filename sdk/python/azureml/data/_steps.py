"""What a dataset does to its records, as plain values: each step is an object with "op"."""

from __future__ import annotations

import random
from typing import Any, Iterable, Iterator

from azureml.exceptions import UserErrorException


def take(count: Any) -> dict[str, Any]:
    """The first records."""
    return {"op": "take", "count": _count(count)}


def skip(count: Any) -> dict[str, Any]:
    """All but the first records."""
    return {"op": "skip", "count": _count(count)}


def sample(probability: Any, seed: Any) -> dict[str, Any]:
    """Each record with a probability."""
    return {"op": "sample", "probability": _share(probability, "probability"), "seed": _seed(seed), "rest": False}


def split(percentage: Any, seed: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two samples that have every record between them."""
    first = {"op": "sample", "probability": _share(percentage, "percentage"), "seed": _seed(seed), "rest": False}
    return first, dict(first, rest=True)


def chosen(step: dict[str, Any], count: int) -> list[bool]:
    """Which of ``count`` records a sample has."""
    draw = random.Random(step["seed"]).random
    return [(draw() < step["probability"]) != step["rest"] for _ in range(count)]


def applied(steps: Iterable[dict[str, Any]], records: Iterator[Any], test: Any) -> Iterator[Any]:
    """The records that are left; ``test(condition, record)`` answers for a filter."""
    import itertools

    for step in steps:
        if step["op"] == "take":
            records = itertools.islice(records, step["count"])
        elif step["op"] == "skip":
            records = itertools.islice(records, step["count"], None)
        elif step["op"] == "sample":
            records = _sampled(step, records)
        elif step["op"] == "filter":
            records = (lambda condition, before: (record for record in before if test(condition, record)))(step["condition"], records)
        else:
            raise UserErrorException(f"this version does not know the step '{step['op']}' of the dataset; it was made by a later one")
    return records


def _sampled(step: dict[str, Any], records: Iterator[Any]) -> Iterator[Any]:
    draw = random.Random(step["seed"]).random
    return (record for record in records if (draw() < step["probability"]) != step["rest"])


def _count(count: Any) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise UserErrorException(f"count must be a whole number of at least 0, not {count!r}")
    return count


def _share(value: Any, argument: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise UserErrorException(f"{argument} must be a number from 0.0 to 1.0, not {value!r}")
    return float(value)


def _seed(seed: Any) -> int:
    if seed is None:
        return random.SystemRandom().getrandbits(48)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise UserErrorException(f"seed must be a whole number, not {seed!r}")
    return seed

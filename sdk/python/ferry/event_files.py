"""Metrics as TensorBoard's event files: records with checksums around small protocol buffers, written by hand."""

from __future__ import annotations

import math
import os
import struct
import time
from datetime import datetime, timezone
from typing import Any, Iterator

from ferry import runs
from ferry.metrics import _numbers


def export(run: Any, folder: str, recursive: bool, logger: Any) -> None:
    """Writes the metrics of a run into ``folder``, those of its children into folders below, named like them."""
    client = run._client
    points = [point for metric in client.get(runs.path(run.id, "/metrics"))["metrics"] for point in _points(client, run.id, metric)]
    if points:
        points.sort(key=lambda point: point[0])
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "events.out.tfevents.%010d.%s" % (points[0][0], run.id))
        part = path + ".part"
        with open(part, "wb") as file:
            file.write(record(_double(1, points[0][0]) + _bytes(3, b"brain.Event:2")))
            for at, step, tag, value in points:
                file.write(record(event(at, step, tag, value)))
        os.replace(part, path)
    if logger is not None:
        logger.info("exported %d points of run %s to %s", len(points), run.id, folder)
    if recursive:
        for child in run.get_children():
            export(child, os.path.join(folder, child.id), True, logger)


def event(at: float, step: int, tag: str, value: float) -> bytes:
    """An Event with one scalar."""
    summary = _bytes(1, _bytes(1, tag.encode("utf-8")) + struct.pack("<Bf", 2 << 3 | 5, _float(value)))
    return _double(1, at) + _varint(2 << 3) + _varint(step & (2**64 - 1)) + _bytes(5, summary)


def record(data: bytes) -> bytes:
    """One record of the file."""
    head = struct.pack("<Q", len(data))
    return head + struct.pack("<I", _masked(head)) + data + struct.pack("<I", _masked(data))


def _points(client: Any, run_id: str, metric: dict[str, Any]) -> Iterator[tuple[float, int, str, float]]:
    """(time, step, tag, number) of everything in the metric that is a number."""
    from ferry.client import quote_path

    if metric["kind"] in ("text", "image"):
        return
    answer = client.get(runs.path(run_id, "/metrics/" + quote_path(metric["name"])), limit=0)
    count = 0
    steps = any(point["step"] for point in answer["points"])
    for point in answer["points"]:
        at, value = _seconds(point["time"]), _numbers(point["value"])
        if isinstance(value, dict):
            longest = 1
            for column, cells in value.items():
                cells = cells if isinstance(cells, list) else [cells]
                longest = max(longest, len(cells))
                for i, cell in enumerate(cells):
                    if _is_number(cell):
                        yield at, count + i, f"{metric['name']}/{column}", cell
            count += longest
            continue
        for one in value if isinstance(value, list) else [value]:
            if _is_number(one):
                yield at, point["step"] if steps and not isinstance(value, list) else count, metric["name"], one
            count += 1


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _seconds(text: str) -> float:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc).timestamp() if text else time.time()


def _float(value: float) -> float:
    """The value as 32 bits can hold it."""
    number = float(value)
    return number if math.isnan(number) or abs(number) <= 3.4028234e38 else math.copysign(math.inf, number)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _bytes(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _double(field: int, value: float) -> bytes:
    return struct.pack("<Bd", field << 3 | 1, value)


def _table() -> list[int]:
    out = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ 0x82F63B78 if byte & 1 else byte >> 1
        out.append(byte)
    return out


_CRC32C = _table()


def _masked(data: bytes) -> int:
    """TensorFlow's mask over CRC-32C."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC32C[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF

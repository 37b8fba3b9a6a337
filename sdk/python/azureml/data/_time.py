"""Times as the server writes them, and as definitions keep them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

_FORM = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?$")


def parse(text: str | None) -> datetime | None:
    """The time of an RFC 3339 text; None for nothing. Without an offset it has no time zone."""
    match = _FORM.match(text or "")
    if match is None:
        return None
    parts = [int(part) for part in match.groups()[:6]]
    micros = int((match.group(7) or "0").ljust(6, "0")[:6])
    zone, offset = match.group(8), None
    if zone == "Z":
        offset = timezone.utc
    elif zone:
        offset = timezone((1 if zone[0] == "+" else -1) * timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6])))
    return datetime(*parts, micros, offset)  # type: ignore[misc, arg-type]

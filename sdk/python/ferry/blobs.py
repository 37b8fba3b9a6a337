"""Contents on their way to the server: what it lacks and nothing else, small ones in packs, large ones in parts."""

from __future__ import annotations

import hashlib
import os
import struct
from typing import Any, Callable, Iterable, Iterator

from azureml.exceptions import UserErrorException
from ferry.client import Client, Conflict, NotFound

_DIGESTS_PER_REQUEST = 100_000
# The largest content that a pack takes (src/blob/pack.h), the content of one request, one part of a large content.
_MOST_PACKED = 4 << 20
_PACK = 64 << 20
_PART = 8 << 20
_BLOCK = 1 << 18


class Changed(UserErrorException):
    """A file is not what it was when it was looked at. ``path`` is the file."""

    def __init__(self, path: str) -> None:
        super().__init__(f"'{path}' changed while it was sent")
        self.path = path


class Content:
    """Bytes, or a file with the content that it had when it was looked at."""

    def __init__(self, source: Any, digest: str, size: int) -> None:
        self.source = source
        self.digest = digest
        self.size = size

    @classmethod
    def of(cls, source: Any) -> Content:
        """Looks at a path or at bytes."""
        if isinstance(source, (bytes, bytearray, memoryview)):
            data = bytes(source)
            return cls(data, hashlib.sha256(data).hexdigest(), len(data))
        try:
            path = os.fsdecode(os.fspath(source))
        except TypeError:
            raise UserErrorException(f"a file must be given as a path or as bytes, not as a value of type {type(source).__name__}") from None
        try:
            with open(path, "rb") as file:
                digest, size = hash_file(file)
        except OSError as error:
            raise UserErrorException(f"cannot read '{path}': {error.strerror or error}", error) from None
        return cls(path, digest, size)

    def read(self) -> bytes:
        """All of it. Raises Changed."""
        if isinstance(self.source, bytes):
            return self.source
        try:
            with open(self.source, "rb") as file:
                data = file.read(self.size + 1)
        except OSError:
            raise Changed(self.source) from None
        if len(data) != self.size or hashlib.sha256(data).hexdigest() != self.digest:
            raise Changed(self.source)
        return data

    def part(self, offset: int, size: int) -> bytes:
        """Some of it. Raises Changed."""
        if isinstance(self.source, bytes):
            return self.source[offset:offset + size]
        try:
            with open(self.source, "rb") as file:
                file.seek(offset)
                data = file.read(size)
        except OSError:
            raise Changed(self.source) from None
        if len(data) != size:
            raise Changed(self.source)
        return data


def hash_file(file: Any) -> tuple[str, int]:
    """Digest and size of what is left in an open file."""
    sha, size = hashlib.sha256(), 0
    while True:
        block = file.read(_BLOCK)
        if not block:
            return sha.hexdigest(), size
        sha.update(block)
        size += len(block)


def put(client: Client, sources: Iterable[Any], progress: Callable[[int, int], None] | None = None) -> list[tuple[str, int]]:
    """See :meth:`ferry.client.Client.put_blobs`."""
    contents = [Content.of(source) for source in sources]
    send(client, contents, progress)
    return [(content.digest, content.size) for content in contents]


def send(client: Client, contents: Iterable[Content], progress: Callable[[int, int], None] | None = None) -> None:
    """Brings the server what it lacks of the contents. Raises Changed; what arrived before is not sent again."""
    lacking = _lacking(client, contents)
    total, done = sum(content.size for content in lacking), 0

    def tell(size: int) -> None:
        nonlocal done
        done += size
        if progress is not None:
            progress(done, total)

    for content in lacking:
        if content.size > _MOST_PACKED:
            _send_parts(client, content, tell)
    pack: list[Content] = []
    size = 0
    for content in lacking:
        if content.size > _MOST_PACKED:
            continue
        if pack and size + content.size > _PACK:
            _send_pack(client, pack, tell)
            pack, size = [], 0
        pack.append(content)
        size += content.size
    if pack:
        _send_pack(client, pack, tell)


def _lacking(client: Client, contents: Iterable[Content]) -> list[Content]:
    unique: dict[str, Content] = {}
    for content in contents:
        unique.setdefault(content.digest, content)
    digests, missing = list(unique), set()
    for at in range(0, len(digests), _DIGESTS_PER_REQUEST):
        answer = client.post("/blobs/missing", {"digests": digests[at:at + _DIGESTS_PER_REQUEST]}, repeat=True)
        missing.update(answer.get("missing", ()))
    return [content for digest, content in unique.items() if digest in missing]


def _send_pack(client: Client, contents: list[Content], tell: Callable[[int], None]) -> None:
    def records() -> Iterator[bytes]:
        yield b"FPK1"
        for content in contents:
            data = content.read()
            yield bytes.fromhex(content.digest) + struct.pack("<II", len(data), len(data)) + data

    size = 4 + sum(40 + content.size for content in contents)
    client._ask_raw("POST", "/blobs/pack", {}, records, size, repeat=True)
    tell(sum(content.size for content in contents))


def _send_parts(client: Client, content: Content, tell: Callable[[int], None]) -> None:
    path = "/blobs/" + content.digest
    at = _arrived(client, path, content.size)
    tell(at)
    asked_again = False
    while at < content.size:
        part = content.part(at, min(_PART, content.size - at))
        try:
            client._ask_raw("PUT", path + "/parts", {"offset": at}, lambda: part, len(part))
        except Conflict:
            # Somebody else sends the same content, or this part arrived before; the server knows how far it is.
            if asked_again:
                raise
            asked_again = True
            at = _arrived(client, path, content.size)
            continue
        asked_again = False
        at += len(part)
        tell(len(part))
    try:
        client.post(path + "/finish", {"size": content.size}, repeat=True)
    except (Conflict, UserErrorException) as error:
        if getattr(error, "slug", "") == "blob.corrupt" and not isinstance(content.source, bytes) and \
                Content.of(content.source).digest != content.digest:
            raise Changed(content.source) from None
        raise


def _arrived(client: Client, path: str, size: int) -> int:
    try:
        return min(size, max(0, int(client.get(path + "/parts").get("size", 0))))
    except NotFound:
        return 0

"""The source directory as a value: the manifest of what a run needs, its way to the server and back. The same ids as src/snapshot."""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING, Any, Callable, Iterator

from azureml.exceptions import SnapshotException, UserErrorException
from ferry.ignore import IgnoreRules

if TYPE_CHECKING:
    from ferry.client import Client

# Beyond these a snapshot is worth a word; no limit.
LARGE_BYTES = 300_000_000
LARGE_FILES = 2000
_HEAD = b"ferry-snapshot 1\n"
_MOST_NAMED = 10
_LONGEST_PATH, _LONGEST_NAME = 4096, 255
_LARGEST_RULES = 16 << 20
_TRIES = 3
_MOST_PACKED, _BATCH_BYTES, _BATCH_COUNT = 4 << 20, 8 << 20, 1000
_LARGEST_MANIFEST = 1 << 30


class Entry:
    """One file ("f", "x" when executable), link ("l") or empty folder ("d"). Paths are relative bytes with '/'."""

    __slots__ = ("kind", "path", "digest", "size", "target")

    def __init__(self, kind: str, path: bytes, digest: str = "", size: int = 0, target: bytes = b"") -> None:
        self.kind = kind
        self.path = path
        self.digest = digest
        self.size = size
        self.target = target

    @property
    def is_file(self) -> bool:
        """Whether it has content."""
        return self.kind in "fx"


class Snapshot:
    """A folder as it was when it was read: ``entries`` in bytewise order of their paths, ``notes`` on what is worth saying."""

    def __init__(self, folder: str, entries: list[Entry], ignore_file: str = "", notes: list[str] | None = None) -> None:
        self.folder = folder
        self.entries = entries
        self.ignore_file = ignore_file
        self.notes = notes or []
        self._text: bytes | None = None

    @property
    def text(self) -> bytes:
        """The canonical text of the manifest."""
        if self._text is None:
            lines = [_HEAD]
            for entry in self.entries:
                if entry.is_file:
                    lines.append(b"%s %s %d %s\n" % (entry.kind.encode(), entry.digest.encode(), entry.size, _escape(entry.path)))
                elif entry.kind == "l":
                    lines.append(b"l %s\t%s\n" % (_escape(entry.path), _escape(entry.target)))
                else:
                    lines.append(b"d %s\n" % _escape(entry.path))
            self._text = b"".join(lines)
        return self._text

    @property
    def id(self) -> str:
        """The digest of the text: equal folders have equal ids, whoever made them."""
        return hashlib.sha256(self.text).hexdigest()

    def has(self, path: str) -> bool:
        """Whether an entry has this path, or a link on the way to it."""
        wanted = os.fsencode(path)
        return any(entry.path == wanted or (entry.kind == "l" and wanted.startswith(entry.path + b"/")) for entry in self.entries)

    def upload(self, client: Client, progress: Callable[[int, int], None] | None = None) -> str:
        """Brings the server what it lacks, the manifest last, and gives the id. Raises ferry.blobs.Changed."""
        from ferry import blobs

        root = os.fsencode(self.folder)
        blobs.send(client, (blobs.Content(os.fsdecode(os.path.join(root, entry.path)), entry.digest, entry.size)
                            for entry in self.entries if entry.is_file), progress)
        blobs.send(client, [blobs.Content.of(self.text)])
        return self.id


def scan(folder: Any) -> Snapshot:
    """Reads a folder, or one file as a folder that holds it alone. Links inside stay links, links to files outside are followed, others
    are left out with a note. Raises SnapshotException."""
    path = os.fsdecode(os.fspath(folder))
    if not os.path.exists(path):
        raise SnapshotException(f"there is no folder '{path}' to take the source from")
    if os.path.isfile(path):
        return _scan_file(path)
    if not os.path.isdir(path):
        raise SnapshotException(f"'{path}' is not a folder")
    root = os.fsencode(path)
    rules, used = _read_rules(path)
    found, unreadable, special = [], [], []
    _walk(root, b"", rules, found, unreadable, special)
    found.sort(key=lambda item: item[0])
    notes: list[str] = []
    found = _resolve_links(root, found, notes)
    _shorten(notes, "links were left out")
    left_out = [f"{_show(name)} is neither a file nor a folder and was left out" for name in sorted(special)]
    _shorten(left_out, "special files were left out")
    entries = []
    for name, kind, target in found:
        if kind != "f":
            entries.append(Entry(kind, name, target=target))
            continue
        entry = _hash(root, name)
        if entry is None:
            unreadable.append(name)
        elif entry.path:
            entries.append(entry)
    _check_readable(unreadable)
    snapshot = Snapshot(path, entries, used, notes + left_out)
    large = _large_note(entries)
    if large:
        snapshot.notes.append(large)
    return snapshot


def restore_zip(client: Client, snapshot_id: str, path: Any) -> str:
    """Writes the snapshot as ``path/SNAPSHOT_ID.zip`` and gives the file's path."""
    import zipfile

    entries = fetch_manifest(client, snapshot_id)
    folder = os.path.abspath(os.fsdecode(os.fspath(path)))
    os.makedirs(folder, exist_ok=True)
    target = os.path.join(folder, snapshot_id + ".zip")
    part = os.path.join(folder, ".ferry-" + os.urandom(8).hex() + ".part")
    by_digest: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.is_file:
            by_digest.setdefault(entry.digest, []).append(entry)
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for entry in entries:
                if entry.kind == "l":
                    archive.writestr(_zip_info(entry, stat.S_IFLNK | 0o777), entry.target)
                elif entry.kind == "d":
                    archive.writestr(_zip_info(entry, stat.S_IFDIR | 0o755), b"")
            for digest, data in _contents(client, entries):
                for entry in by_digest[digest]:
                    archive.writestr(_zip_info(entry, stat.S_IFREG | (0o755 if entry.kind == "x" else 0o644)), data)
        os.replace(part, target)
    except BaseException:
        try:
            os.unlink(part)
        except FileNotFoundError:
            pass
        raise
    return target


def fetch_manifest(client: Client, snapshot_id: str) -> list[Entry]:
    """The entries of a snapshot that the server has. Raises SnapshotException for what is none."""
    text = client.read("/blobs/" + snapshot_id)
    if len(text) > _LARGEST_MANIFEST or hashlib.sha256(text).hexdigest() != snapshot_id:
        raise SnapshotException(f"snapshot {snapshot_id} arrived with another content")
    return parse(text)


def parse(text: bytes) -> list[Entry]:
    """The entries of a manifest's text. Raises SnapshotException for paths that are not safe to write."""
    if not text.startswith(_HEAD) or not text.endswith(b"\n"):
        raise SnapshotException("the snapshot manifest is not valid: it does not begin or end as one")
    entries = []
    last = b""
    for line in text[len(_HEAD):].split(b"\n")[:-1]:
        kind, _, rest = line.partition(b" ")
        try:
            if kind in (b"f", b"x"):
                digest, size, path = rest.split(b" ", 2)
                entry = Entry(kind.decode(), _unescape(path), digest.decode("ascii"), int(size))
                if len(bytes.fromhex(entry.digest)) != 32:
                    raise ValueError
            elif kind == b"l":
                path, target = rest.split(b"\t")
                entry = Entry("l", _unescape(path), target=_unescape(target))
            elif kind == b"d":
                entry = Entry("d", _unescape(rest))
            else:
                raise ValueError
        except ValueError:
            raise SnapshotException("the snapshot manifest is not valid: a line is no entry") from None
        if not _is_safe(entry.path) or entry.path <= last or (entry.kind == "l" and not _is_safe_target(entry.path, entry.target)):
            raise SnapshotException(f"the snapshot manifest is not valid: '{_show(entry.path)}' is not safe to write")
        last = entry.path
        entries.append(entry)
    return entries


# Reading a folder


def _read_rules(folder: str) -> tuple[IgnoreRules, str]:
    for name in (".amlignore", ".gitignore"):
        path = os.path.join(folder, name)
        if not os.path.isfile(path):
            continue
        try:
            with open(path, "rb") as file:
                text = file.read(_LARGEST_RULES + 1)
        except OSError as error:
            raise SnapshotException(f"cannot read {name}: {error.strerror}", error) from None
        if len(text) > _LARGEST_RULES:
            raise SnapshotException(f"{name} has more than {_LARGEST_RULES} bytes")
        return IgnoreRules(text), name
    return IgnoreRules(), ""


def _walk(root: bytes, path: bytes, rules: IgnoreRules, found: list[tuple[bytes, str, bytes]], unreadable: list[bytes],
          special: list[bytes]) -> None:
    folders = [path]
    while folders:
        path = folders.pop()
        try:
            children = list(os.scandir(os.path.join(root, path) if path else root))
        except FileNotFoundError:
            continue
        except OSError:
            unreadable.append(path)
            continue
        if not children and path:
            found.append((path, "d", b""))
        for child in children:
            name = path + b"/" + child.name if path else child.name
            is_folder = child.is_dir(follow_symlinks=False)
            if child.name == b".git" or rules.ignored_here(name, is_folder):
                continue
            if is_folder:
                folders.append(name)
            elif child.is_symlink():
                found.append((name, "l", b""))
            elif child.is_file(follow_symlinks=False):
                found.append((name, "f", b""))
            else:
                special.append(name)


def _resolve_links(root: bytes, found: list[tuple[bytes, str, bytes]], notes: list[str]) -> list[tuple[bytes, str, bytes]]:
    if not any(kind == "l" for _, kind, _ in found):
        return found
    real_root = os.path.realpath(root)
    paths = {name for name, _, _ in found}
    above = {name[:at] for name in paths for at, c in enumerate(name) if c == 0x2F}
    inside = paths | above | {b""}
    kept = []
    for name, kind, target in found:
        if kind != "l":
            kept.append((name, kind, target))
            continue
        full = os.path.join(root, name)
        try:
            text = os.readlink(full)
            mode = os.stat(full).st_mode
            real = os.path.realpath(full)
        except OSError:
            notes.append(f"{_show(name)} is a link that leads nowhere and was left out")
            continue
        prefix = real_root if real_root.endswith(b"/") else real_root + b"/"
        below = b"" if real == real_root else real[len(prefix):] if real.startswith(prefix) else None
        if below is not None and below in inside:
            plain = _lexical(name, text)
            to = _simplified(text) if plain is not None and plain in inside else _relative_to(name, below)
            if _is_safe_target(name, to):
                kept.append((name, "l", to))
                continue
        if stat.S_ISREG(mode):
            kept.append((name, "f", b""))
            continue
        notes.append(f"{_show(name)} is a link to {'a folder' if stat.S_ISDIR(mode) else 'something'} outside of the snapshot and was left out")
    return kept


def _hash(root: bytes, name: bytes) -> Entry | None:
    """The file's entry; one without a path when it vanished, None when it cannot be read."""
    from ferry.blobs import hash_file

    entry = None
    for _ in range(_TRIES):
        try:
            with open(os.path.join(root, name), "rb") as file:
                before = os.fstat(file.fileno())
                digest, size = hash_file(file)
                after = os.fstat(file.fileno())
        except FileNotFoundError:
            return Entry("f", b"")
        except OSError:
            return None
        entry = Entry("x" if after.st_mode & 0o100 else "f", name, digest, size)
        if size == after.st_size == before.st_size and before.st_mtime_ns == after.st_mtime_ns:
            return entry
    return entry  # One that keeps changing is taken as it was read at last.


def _scan_file(path: str) -> Snapshot:
    folder, name = os.path.split(os.path.abspath(path))
    entry = _hash(os.fsencode(folder), os.fsencode(name))
    if entry is None or not entry.path:
        raise SnapshotException(f"cannot read '{path}'")
    return Snapshot(folder, [entry])


def _check_readable(unreadable: list[bytes]) -> None:
    if not unreadable:
        return
    names = ", ".join(_show(name) or "." for name in sorted(unreadable)[:_MOST_NAMED])
    more = f" and {len(unreadable) - _MOST_NAMED} more" if len(unreadable) > _MOST_NAMED else ""
    raise SnapshotException(f"cannot read {names}{more}; list them in .amlignore to leave them out")


def _large_note(entries: list[Entry]) -> str:
    files = [entry for entry in entries if entry.is_file]
    total = sum(entry.size for entry in files)
    if len(files) <= LARGE_FILES and total <= LARGE_BYTES:
        return ""
    folders: dict[bytes, list[int]] = {}
    for entry in files:
        top, slash, _ = entry.path.partition(b"/")
        if slash:
            tally = folders.setdefault(top, [0, 0])
            tally[0] += 1
            tally[1] += entry.size
    by = 1 if total > LARGE_BYTES else 0
    largest = sorted(folders.items(), key=lambda item: -item[1][by])[:3]
    listed = ", ".join(f"{_show(name)}/ ({count} files, {_bytes_text(size)})" for name, (count, size) in largest)
    return (f"the snapshot is large: {len(files)} files, {_bytes_text(total)}" + (f"; largest folders: {listed}" if listed else "")
            + "; list what runs do not need in .amlignore")


def _shorten(notes: list[str], what: str) -> None:
    more = len(notes) - _MOST_NAMED
    if more > 0:
        notes[_MOST_NAMED:] = [f"and {more} more {what}"]


def _bytes_text(size: int) -> str:
    for unit in ("B", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000  # type: ignore[assignment]
    return f"{size:.1f} GB"


def _show(path: bytes) -> str:
    return path.decode("utf-8", "replace")


# Paths and links


def _is_safe(path: bytes) -> bool:
    return 0 < len(path) <= _LONGEST_PATH and all(
        0 < len(name) <= _LONGEST_NAME and name not in (b".", b"..") and b"\0" not in name for name in path.split(b"/"))


def _is_safe_target(path: bytes, target: bytes) -> bool:
    """".." at most as often as there are folders above, then names; or just "."."""
    if target == b".":
        return True
    depth = path.count(b"/")
    while target == b".." or target.startswith(b"../"):
        if depth == 0:
            return False
        depth -= 1
        target = target[3:]
        if not target:
            return True
    return _is_safe(target)


def _simplified(target: bytes) -> bytes:
    return b"/".join(part for part in target.split(b"/") if part not in (b"", b".")) or b"."


def _lexical(path: bytes, target: bytes) -> bytes | None:
    """Where a relative target leads as text; None when it is absolute, leaves the root, or has a ".." behind a name."""
    if target.startswith(b"/"):
        return None
    simple = _simplified(target)
    if not _is_safe_target(path, simple):
        return None
    at = path.rpartition(b"/")[0]
    if simple == b".":
        return at
    while simple == b".." or simple.startswith(b"../"):
        at = at.rpartition(b"/")[0]
        simple = simple[3:]
    return at if not simple else at + b"/" + simple if at else simple


def _relative_to(path: bytes, inside: bytes) -> bytes:
    start = path.split(b"/")[:-1]
    end = inside.split(b"/") if inside else []
    common = 0
    while common < len(start) and common < len(end) and start[common] == end[common]:
        common += 1
    return b"/".join([b".."] * (len(start) - common) + end[common:]) or b"."


def _escape(text: bytes) -> bytes:
    return text.replace(b"\\", b"\\\\").replace(b"\n", b"\\n").replace(b"\t", b"\\t")


def _unescape(text: bytes) -> bytes:
    if b"\\" not in text:
        if b"\t" in text:
            raise ValueError
        return text
    out, i = bytearray(), 0
    while i < len(text):
        c = text[i]
        if c == 0x5C:
            i += 1
            c = {0x5C: 0x5C, 0x6E: 0x0A, 0x74: 0x09}.get(text[i] if i < len(text) else -1, -1)
            if c < 0:
                raise ValueError
        out.append(c)
        i += 1
    return bytes(out)


# Contents on their way back


def _contents(client: Client, entries: list[Entry]) -> Iterator[tuple[str, bytes]]:
    """Each content once: small ones many at a time, as a pack."""
    small: list[str] = []
    size = 0
    seen = set()
    for entry in entries:
        if not entry.is_file or entry.digest in seen:
            continue
        seen.add(entry.digest)
        if entry.size == 0:
            yield entry.digest, b""
        elif entry.size > _MOST_PACKED:
            yield entry.digest, _checked(entry.digest, client.read("/blobs/" + entry.digest))
        else:
            if small and (size + entry.size > _BATCH_BYTES or len(small) == _BATCH_COUNT):
                yield from _batch(client, small)
                small, size = [], 0
            small.append(entry.digest)
            size += entry.size
    if small:
        yield from _batch(client, small)


def _batch(client: Client, digests: list[str]) -> Iterator[tuple[str, bytes]]:
    import json
    import struct

    body = json.dumps({"digests": digests}).encode()
    pack = client._exchange("POST", "/blobs/fetch", {"plain": 1}, lambda: body, headers=lambda: {"Content-Type": "application/json"},
                            read=lambda response: response.read(), repeat=True)
    if pack[:4] != b"FPK1":
        raise SnapshotException("what arrived is no pack of contents")
    at = 4
    while at < len(pack):
        digest = pack[at:at + 32].hex()
        stored, raw = struct.unpack_from("<II", pack, at + 32)
        if stored != raw:
            raise SnapshotException("what arrived is compressed, which was not asked for")
        yield digest, _checked(digest, pack[at + 40:at + 40 + stored])
        at += 40 + stored


def _checked(digest: str, data: bytes) -> bytes:
    if hashlib.sha256(data).hexdigest() != digest:
        raise SnapshotException(f"content {digest} arrived as another")
    return data


def _zip_info(entry: Entry, mode: int) -> Any:
    import zipfile

    info = zipfile.ZipInfo(_show(entry.path) + ("/" if entry.kind == "d" else ""))
    info.external_attr = mode << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 3
    return info


def check_folder(folder: Any, argument: str = "source_directory") -> str:
    """The path of a folder that is there. ``argument`` names it in the error."""
    try:
        path = os.fsdecode(os.fspath(folder))
    except TypeError:
        raise UserErrorException(f"{argument} must be a path, not a value of type {type(folder).__name__}") from None
    if not os.path.exists(path):
        raise UserErrorException(f"{argument}: there is no folder '{path}'")
    if not os.path.isdir(path):
        raise UserErrorException(f"{argument}: '{path}' is not a folder")
    return path

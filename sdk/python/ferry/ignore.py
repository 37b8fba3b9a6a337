"""The rules of an ignore file: gitwildmatch over bytes, the last match wins, ``!`` takes back in. The same as src/snapshot/ignore.cc."""

from __future__ import annotations

_SPECIAL = b"*?[\\"
_MALFORMED = -1


class IgnoreRules:
    """What one ``.amlignore`` or ``.gitignore`` leaves out."""

    def __init__(self, text: bytes = b"") -> None:
        if text.startswith(b"\xef\xbb\xbf"):
            text = text[3:]
        self._rules: list[_Rule] = []
        for line in text.split(b"\n"):
            if line.endswith(b"\r"):
                line = line[:-1]
            if not line or line.startswith(b"#"):
                continue
            line = _without_trailing_spaces(line)
            negated = line.startswith(b"!")
            if negated:
                line = line[1:]
            folder_only = line.endswith(b"/")
            if folder_only:
                line = line[:-1]
            anchored = b"/" in line
            if line.startswith(b"/"):
                line = line[1:]
            if line:
                self._rules.append(_Rule(line, negated, folder_only, anchored))
        self._rules.reverse()

    def ignored(self, path: bytes, is_folder: bool) -> bool:
        """Whether ``path``, relative with '/', is left out: by itself or with a folder above it."""
        at = path.find(b"/")
        while at >= 0:
            if self.ignored_here(path[:at], True):
                return True
            at = path.find(b"/", at + 1)
        return self.ignored_here(path, is_folder)

    def ignored_here(self, path: bytes, is_folder: bool) -> bool:
        """The same without asking for the folders above. REQUIRES: none of them is ignored."""
        name = path[path.rfind(b"/") + 1:]
        for rule in self._rules:
            if (is_folder or not rule.folder_only) and rule.matches(path, name):
                return not rule.negated
        return False


class _Rule:
    def __init__(self, pattern: bytes, negated: bool, folder_only: bool, anchored: bool) -> None:
        self.negated = negated
        self.folder_only = folder_only
        self._pattern = pattern
        self._anchored = anchored  # has a '/': compared with the whole path and not with the name
        self._literal = next((i for i, c in enumerate(pattern) if c in _SPECIAL), len(pattern))
        self._suffix = pattern[:1] == b"*" and not any(c in _SPECIAL for c in pattern[1:])

    def matches(self, path: bytes, name: bytes) -> bool:
        pattern = self._pattern
        if not self._anchored:
            if self._literal == len(pattern):
                return name == pattern
            if self._suffix:
                return name.endswith(pattern[1:])
            return _wild_match(pattern, name)
        if not path.startswith(pattern[:self._literal]):
            return False
        return _wild_match(pattern[self._literal:], path[self._literal:])


def _without_trailing_spaces(line: bytes) -> bytes:
    """Spaces at the end do not count unless a backslash stands before them."""
    end = i = 0
    while i < len(line):
        if line[i:i + 1] == b"\\":
            i += 1
            end = min(i + 1, len(line))
        elif line[i:i + 1] != b" ":
            end = i + 1
        i += 1
    return line[:end]


def _in_named_class(name: bytes, c: int) -> bool | None:
    """Of the C locale; None for a class that is not known."""
    lower, upper, digit, graph = 97 <= c <= 122, 65 <= c <= 90, 48 <= c <= 57, 32 < c < 127
    return {b"alnum": lower or upper or digit, b"alpha": lower or upper, b"blank": c in (32, 9), b"cntrl": c < 32 or c == 127,
            b"digit": digit, b"graph": graph, b"lower": lower, b"print": graph or c == 32,
            b"punct": graph and not (lower or upper or digit), b"space": c == 32 or 9 <= c <= 13, b"upper": upper,
            b"xdigit": digit or 97 <= c <= 102 or 65 <= c <= 70}.get(name)


def _match_class(pattern: bytes, at: int, c: int) -> tuple[int, int]:
    """Compares one byte with the class whose '[' stands at ``at``: whether it matches (or _MALFORMED), and where the class ends."""
    i, matched, negated = at + 1, False, False
    if pattern[i:i + 1] in (b"!", b"^"):
        negated = True
        i += 1
    previous = -1  # The byte before a '-' that can begin a range; none behind a range or a named class.
    first = True
    while True:
        if i >= len(pattern):
            return _MALFORMED, i
        p = pattern[i]
        if p == 0x5D and not first:
            break
        first = False
        if p == 0x2D and previous >= 0 and i + 1 < len(pattern) and pattern[i + 1] != 0x5D:
            i += 1
            p = pattern[i]
            if p == 0x5C:
                i += 1
                if i >= len(pattern):
                    return _MALFORMED, i
                p = pattern[i]
            matched |= previous <= c <= p
            previous = -1
            i += 1
            continue
        if p == 0x5B and pattern[i + 1:i + 2] == b":":
            close = pattern.find(b"]", i + 2)
            if close < 0:
                return _MALFORMED, i
            if close > i + 2 and pattern[close - 1] == 0x3A:
                inside = _in_named_class(pattern[i + 2:close - 1], c)
                if inside is None:
                    return _MALFORMED, i
                matched |= inside
                previous = -1
                i = close + 1
                continue
        if p == 0x5C:
            i += 1
            if i >= len(pattern):
                return _MALFORMED, i
            p = pattern[i]
        matched |= p == c
        previous = p
        i += 1
    return int(matched != negated and c != 0x2F), i + 1


def _match_one(pattern: bytes, at: int, c: int) -> tuple[int, int]:
    """Compares one byte with the element at ``at``, which is no '*': whether it matches, and where the element ends."""
    p = pattern[at]
    if p == 0x3F:
        return int(c != 0x2F), at + 1
    if p == 0x5B:
        return _match_class(pattern, at, c)
    if p == 0x5C:
        at += 1
        if at >= len(pattern):
            return _MALFORMED, at
        p = pattern[at]
    return int(p == c), at + 1


def _wild_match(pattern: bytes, text: bytes) -> bool:
    """gitwildmatch of a whole text. Two places to go back to are enough, so the time is at most the product of both lengths."""
    p = t = 0
    star_p, star_t = -1, 0  # behind the last '*', and the text it has not taken yet
    double_p, double_t = -1, 0  # the same of the last "**"
    by_folder = False  # the last "**" has a '/' behind it that belongs to it: it takes whole folders
    while True:
        if p < len(pattern) and pattern[p] == 0x2A:
            begin = p
            while p < len(pattern) and pattern[p] == 0x2A:
                p += 1
            rest = pattern[p:]
            whole = p - begin >= 2 and (begin == 0 or pattern[begin - 1] == 0x2F) and (
                not rest or rest[0] == 0x2F or rest.startswith(b"\\/"))
            if not whole:
                star_p, star_t = p, t
                continue
            if not rest:
                return True
            by_folder = rest[0] == 0x2F
            if by_folder:
                p += 1
            double_p, double_t, star_p = p, t, -1
            continue
        if p == len(pattern):
            if t == len(text):
                return True
        elif t == len(text):
            return False
        else:
            matched, p = _match_one(pattern, p, text[t])
            if matched == _MALFORMED:
                return False
            if matched:
                t += 1
                continue
        if star_p >= 0 and star_t < len(text) and text[star_t] != 0x2F:
            star_t += 1
            p, t = star_p, star_t
            continue
        if double_p < 0:
            return False
        if by_folder:
            slash = text.find(b"/", double_t)
            if slash < 0:
                return False
            double_t = slash + 1
        else:
            if double_t == len(text):
                return False
            double_t += 1
        p, t, star_p = double_p, double_t, -1

"""Hiding secrets in what a job says: a mask in their place, in every form in which they are likely to appear.

Needles are the secrets as text: as they are, line by line where they have several, and as JSON, Python, URLs and base64 show
them. What is shorter than SHORTEST is not hidden: it would be found everywhere.
"""

import base64
import json
from urllib.parse import quote, quote_plus

MASK = "********"
SHORTEST = 4
_SHORTEST_PART = 8
_BASE64_WIDTHS = (76, 64)


def needles_of(values):
    """Every text to look for, for the secrets of a job."""
    needles = set()
    for value in values:
        whole = value.strip()
        needles.update(_base64_forms(whole.encode("utf-8", "surrogatepass")))
        for part in _parts_of(whole):
            needles.update(_written_forms(part))
    return sorted((needle for needle in needles if len(needle) >= SHORTEST), key=len, reverse=True)


def _parts_of(whole):
    """The whole, and its lines: what is printed line by line is coloured or indented line by line."""
    lines = [line.strip() for line in whole.splitlines()]
    if len(lines) < 2:
        return [whole]
    # The first and last line of a key are the same for every key.
    return [whole] + [line for line in lines if len(line) >= SHORTEST and not line.startswith("-----")]


def _written_forms(part):
    """JSON twice, because results that are JSON themselves are shown as JSON."""
    forms = {part}
    for ensure_ascii in (True, False):
        once = json.dumps(part, ensure_ascii=ensure_ascii)[1:-1]
        forms.update((once, json.dumps(once, ensure_ascii=ensure_ascii)[1:-1]))
    forms.add(repr(part)[1:-1])
    forms.add(part.replace("'", "'\"'\"'"))
    forms.add(part.replace("'", "''"))
    forms.add(part.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;"))
    for text in (quote(part, safe="", errors="replace"), quote(part, errors="replace"), quote_plus(part, errors="replace")):
        forms.update((text, _with_lower_escapes(text)))
    return forms


def _with_lower_escapes(text):
    head, *rest = text.split("%")
    return head + "".join("%" + part[:2].lower() + part[2:] for part in rest)


def _base64_forms(data):
    """By itself, and inside of something longer (`user:password`): there it may begin at any of three places of a group."""
    if len(data) < SHORTEST:
        return
    alone = base64.b64encode(data).decode().rstrip("=")
    inside = []
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + data).decode().rstrip("=")
        first = (before * 8 + 5) // 6
        last = (before + len(data)) * 8 // 6
        inside.append(encoded[first:last])
    texts = [alone] + [text for text in inside if len(text) >= _SHORTEST_PART]
    for width in _BASE64_WIDTHS:
        if len(alone) > width:
            texts += [alone[at : at + width] for at in range(0, len(alone), width) if len(alone[at:]) >= _SHORTEST_PART]
    for text in texts:
        yield text
        yield text.replace("+", "-").replace("/", "_")
        yield quote(text, safe="")


class Hider:
    """Replaces needles in texts, or in bytes: they are found wherever they are, also where they overlap."""

    def __init__(self, needles, mask=MASK):
        self._needles = needles
        self._mask = mask

    def occurs_in(self, text):
        return any(needle in text for needle in self._needles)

    def hide(self, text):
        spans = self.spans(text)
        if not spans:
            return text
        parts, at = [], 0
        for start, end in spans:
            parts += [text[at:start], self._mask]
            at = end
        return text[:0].join(parts + [text[at:]])

    def spans(self, text):
        """(start, end) of what must be hidden, in order; what touches is one."""
        found = []
        for needle in self._needles:
            at = text.find(needle)
            while at >= 0:
                found.append((at, at + len(needle)))
                at = text.find(needle, at + 1)
        found.sort()
        merged = []
        for start, end in found:
            if merged and start <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([start, end])
        return merged


class StreamHider:
    """Hides needles in bytes that come in pieces.

    Held back is only what may be the beginning of a needle, so a line that is no secret is never late; what is held goes on with
    the next piece or at the end, and not after a while, because half a secret is one too many.
    """

    def __init__(self, values):
        needles = [needle.encode("utf-8", "surrogatepass") for needle in needles_of(values)]
        self._hider = Hider(needles, MASK.encode())
        self._longest = max(map(len, needles), default=1)
        self._by_beginning = {}
        for needle in needles:
            self._by_beginning.setdefault(needle[:SHORTEST], []).append(needle)
        self._held = b""
        self._covered = 0  # bytes of what is held that a mask stands for already

    def feed(self, piece):
        return self._take(self._held + piece, False)

    def finish(self):
        return self._take(self._held, True)

    def _take(self, data, is_last):
        hold = len(data) if is_last else self._hold_from(data)
        parts, at, is_masked = [], self._covered, self._covered > 0
        for start, end in self._hider.spans(data):
            if start >= hold:
                break
            if start > at or not is_masked:
                parts += [data[at:start], MASK.encode()]
                is_masked = True
            at = max(at, end)
        if at < hold:
            parts.append(data[at:hold])
        self._held = data[hold:]
        self._covered = max(0, at - hold)
        return b"".join(parts)

    def _hold_from(self, data):
        """Where a needle may begin that is not whole yet; the end when none does."""
        size = len(data)
        for at in range(max(0, size - self._longest + 1), size):
            beginning = data[at : at + SHORTEST]
            if len(beginning) == SHORTEST:
                needles = self._by_beginning.get(beginning, ())
            else:
                needles = [one for key, some in self._by_beginning.items() if key.startswith(beginning) for one in some]
            if any(len(needle) > size - at and needle.startswith(data[at:]) for needle in needles):
                return at
        return size

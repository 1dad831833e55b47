"""Hiding secrets in what a job says: a mask in their place, in every form in which they are likely to appear.

Needles are the secrets as text: as they are, line by line where they have several, and as JSON, Python, URLs and base64 show
them. What is shorter than SHORTEST is not hidden: it would be found everywhere.
"""

import base64
import json
import re
from urllib.parse import quote, quote_plus

MASK = "********"
SHORTEST = 4
_SHORTEST_PART = 8
_BASE64_WIDTHS = (76, 64)
# Needles longer than this are few, so each of them is looked for by its first letters.
_NEAR = 128
_BEGINNING = 16
_RUN = "[A-Za-z0-9+/=_%-]{24,}"


def needles_of(values):
    """Every text to look for, for the secrets of a job."""
    needles = set()
    for value in values:
        whole = value.strip()
        needles.update(_base64_forms(whole.encode("utf-8", "surrogatepass")))
        for part in _parts_of(whole):
            needles.update(_written_forms(part))
    return [needle for needle in needles if len(needle) >= SHORTEST]


def _parts_of(whole):
    """The whole text and its lines: a text that is printed line by line may be coloured or indented line by line."""
    lines = [line.strip() for line in whole.splitlines()]
    if len(lines) < 2:
        return [whole]
    # The first and last line of a key are no secret: they are the same for every key.
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
    """Replaces needles in texts, or in bytes: they are found wherever they are, also where they overlap.

    A key is some hundred needles, nearly all of them long and without a space. Those are looked for only where there is as long a
    run of their letters, which in what people read there hardly ever is.
    """

    def __init__(self, needles, mask=MASK):
        is_text = isinstance(mask, str)
        self._mask = mask
        self._run = re.compile(_RUN if is_text else _RUN.encode())
        self._in_runs = [needle for needle in needles if self._run.fullmatch(needle)]
        self._anywhere = [needle for needle in needles if not self._run.fullmatch(needle)]

    def occurs_in(self, text):
        if any(needle in text for needle in self._anywhere):
            return True
        return any(needle in run for run in self._runs(text) for needle in self._in_runs)

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
        """(start, end) of each part to hide, in order. Parts that touch are joined."""
        found = []
        for needle in self._anywhere:
            _find_all(needle, text, 0, len(text), found)
        if self._in_runs:
            for run in self._run.finditer(text):
                for needle in self._in_runs:
                    _find_all(needle, text, run.start(), run.end(), found)
        found.sort()
        merged = []
        for start, end in found:
            if merged and start <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([start, end])
        return merged

    def _runs(self, text):
        return self._run.findall(text) if self._in_runs else ()


def _find_all(needle, text, start, end, found):
    at = text.find(needle, start, end)
    while at >= 0:
        found.append((at, at + len(needle)))
        at = text.find(needle, at + 1, end)


class StreamHider:
    """Hides needles in bytes that come in pieces.

    Held back is only what may be the beginning of a needle, so a line that is no secret is never late; what is held goes on with
    the next piece or at the end, and not after a while, because half a secret is one too many.
    """

    def __init__(self, values):
        needles = [needle.encode("utf-8", "surrogatepass") for needle in needles_of(values)]
        self._hider = Hider(needles, MASK.encode())
        self._long = [needle for needle in needles if len(needle) > _NEAR]
        self._by_beginning = {}
        for needle in needles:
            self._by_beginning.setdefault(needle[:SHORTEST], []).append(needle)
        self._held = b""
        self._covered = 0  # held bytes whose mask was given out already
        self._after_mask = False  # whether the last output was a mask

    def feed(self, piece):
        return self._take(self._held + piece, False)

    def finish(self):
        return self._take(self._held, True)

    def _take(self, data, is_last):
        hold = len(data) if is_last else self._hold_from(data)
        parts, at = [], self._covered
        for start, end in self._hider.spans(data):
            if start >= hold:
                break
            if start > at or not self._after_mask:
                parts += [data[at:start], MASK.encode()]
                self._after_mask = True
            at = max(at, end)
        if at < hold:
            parts.append(data[at:hold])
            self._after_mask = False
        self._held = data[hold:]
        self._covered = max(0, at - hold)
        return b"".join(parts)

    def _hold_from(self, data):
        """Where a needle may begin whose rest has not come yet. The end of the bytes when there is none."""
        size = first = len(data)
        for needle in self._long:
            at = data.find(needle[:_BEGINNING], max(0, size - len(needle) + 1))
            while 0 <= at < first:
                if needle.startswith(data[at:]):
                    first = at
                at = data.find(needle[:_BEGINNING], at + 1)
        for at in range(max(0, size - _NEAR), first):
            rest = data[at:]
            if any(len(needle) > len(rest) and needle.startswith(rest) for needle in self._beginning_with(rest[:SHORTEST])):
                return at
        return first

    def _beginning_with(self, letters):
        if len(letters) == SHORTEST:
            return self._by_beginning.get(letters, ())
        return [needle for key, needles in self._by_beginning.items() if key.startswith(letters) for needle in needles]

"""Layers of a text: as it is, and with its escapes read, once and several times. Each layer knows where its parts stand in the text.

A secret may be printed as JSON, as Python, in a URL, in HTML or for a shell, also several of these at once. Reading the escapes
finds all of them, and in whatever mixture: there is no list of forms that could lack one.
"""

import re
from bisect import bisect_right

# Order: what may go on behind the end of the text; then the longest first.
_CUT_BACKSLASH = rb"\\(?:[xuU]\{?[0-9a-fA-F]{0,7}(?:\\u?[0-9a-fA-F]{0,3})?|[0-7]{0,3})?\Z"
_CODES = (
    rb"\\(?:[xu]\{[0-9a-fA-F]{1,6}\}|x[0-9a-fA-F]{1,2}|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|0[0-3][0-7]{2}|[0-3]?[0-7]{1,2})"
)
_BACKSLASH = _CODES + rb"|\\(?:[^\n]|\n[ \t]*)"
_CUT_OTHERS = rb"|%[0-9a-fA-F]?\Z|&[#A-Za-z0-9]{0,32}\Z"
_OTHERS = rb"|%[0-9a-fA-F]{2}|&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
_CUT_QUOTES = {b"'": rb"""|'(?:"(?:'"?)?|\\'?)?\Z""", b'"': rb'|"\Z'}
_QUOTES = {b"'": rb"""|'"'"'|'\\''|''""", b'"': rb'|""'}
_SIMPLE = {ord("a"): b"\a", ord("b"): b"\b", ord("e"): b"\x1b", ord("f"): b"\f", ord("n"): b"\n", ord("r"): b"\r", ord("t"): b"\t", ord("v"): b"\v"}

_EVERY_LETTER = re.compile(rb"\\\\{0,7}[^\\\n][\x80-\xbf]{0,3}(?:\\{1,8}[^\\\n][\x80-\xbf]{0,3}){3}")
_LAST_LETTERS = re.compile(rb"\\[^\\\n]{0,4}\Z")  # more of them may follow
_MAY_BE_LIST = re.compile(rb"""[A-Za-z0-9_-]["'],""")
_MAY_BREAK = re.compile(rb"[\n\r\x1b]")
_BREAK = re.compile(rb"(\x1b\[[0-9;]*m|\r|\n(?:\x1b\[[0-9;]*m|[ \t\r])*)")
# Between two texts of a list. What comes after the end of the text may complete it.
_NEXT_OF_LIST = re.compile(rb"""(",(?:\x1b\[[0-9;]*m|\s)*"|',(?:\x1b\[[0-9;]*m|\s)*')""")
_CUT_LIST = re.compile(rb"""["'](?:,(?:\x1b\[[0-9;]*m|\s)*(?:\x1b(?:\[[0-9;]*)?)?)?\Z""")
_NOTHING = re.compile(rb"(?!)")
_CUT_BREAK = re.compile(rb"\x1b(?:\[[0-9;]{0,20})?\Z")

_DEPTH_BACKSLASH = 3
_DEPTH_PLAIN = 2
_DEPTH = 4
_MAX_REMEMBERED = 4096
_NEAR_END = 1024


def is_broken(text):
    """Whether a text has ends of lines or colours in it, which the joined texts do not have."""
    return _BREAK.search(text) is not None


class Layer:
    """A text that was made of the one below by putting other bytes in place of some of its parts.

    Where these parts are is computed when somebody asks for a place, because nearly always nobody does.
    """

    __slots__ = ("text", "is_open", "is_certain", "_below", "_before", "_after", "_is_located", "_parts", "_at", "_lines", "_joined", "_is_line")

    def __init__(self, text, below=None, before=(), after=(), is_open=False):
        self.text = text
        self.is_open = is_open  # whether the text below goes on with what may be the beginning of an escape
        self.is_certain = True  # False: what is found here counts only when more has come
        self._below = below
        self._before, self._after = before, after  # the text below and this one in pieces: as it was, changed, as it was, …
        self._is_located = False
        self._parts = []  # (where, how long, where it begins and ends below) of each changed piece
        self._at, self._lines = [], []  # where the changed pieces are, and those that were ends of lines
        self._joined = None
        self._is_line = False  # whether the line surely ends with the text

    def start(self, at):
        """Where the byte at this place begins, in the lowest text."""
        return self._place(at, False)

    def end(self, at):
        """Where the byte before this place ends, in the lowest text."""
        return self._place(at, True)

    def _place(self, at, is_end):
        layer = self
        while layer._below is not None:
            near_end = not layer._is_located and len(layer.text) - at < _NEAR_END
            at = layer._place_from_end(at, is_end) if near_end else layer._place_from_start(at, is_end)
            layer = layer._below
        return at

    def _place_from_start(self, at, is_end):
        self._locate()
        number = bisect_right(self._at, at - is_end) - 1
        if number < 0:
            return at
        where, size, first, last = self._parts[number]
        if at - is_end < where + size:
            return last if is_end else first
        return last + at - where - size

    def _place_from_end(self, at, is_end):
        """Only the last pieces are looked at: where bytes have to wait is nearly always asked of the end."""
        end, end_below = len(self.text), sum(map(len, self._before))
        for number in range(len(self._after) - 1, -1, -1):
            start, start_below = end - len(self._after[number]), end_below - len(self._before[number])
            if at - is_end >= start and (number % 2 == 0 or start < end):
                if number % 2 == 0:
                    return start_below + at - start
                return end_below if is_end else start_below
            end, end_below = start, start_below
        return at

    def _locate(self):
        if self._is_located:
            return
        self._is_located = True
        at = at_below = 0
        for number, (before, after) in enumerate(zip(self._before, self._after)):
            if number % 2:
                self._parts.append((at, len(after), at_below, at_below + len(before)))
                if not after and b"\n" in before:
                    self._lines.append(at)
            at += len(after)
            at_below += len(before)
        self._at = [part[0] for part in self._parts]

    def joined(self):
        """The text without the ends of its lines and without colours: ansible breaks and colours what it prints."""
        if self._joined is None:
            self._joined = self._without(_BREAK, _CUT_BREAK) if _MAY_BREAK.search(self.text) else self
            self._joined._is_line = self._is_line
        return self._joined

    def listed(self, is_last):
        """The text with the parts of a list as one: each line of what a program printed is such a part."""
        layer = self._without(_NEXT_OF_LIST, _NOTHING if is_last else _CUT_LIST)
        layer._is_line, layer.is_open = layer.is_open, False
        return layer

    def _without(self, pattern, at_end):
        before = pattern.split(self.text)
        after = before[:]
        after[1::2] = [b""] * (len(before) // 2)
        cut = at_end.search(before[-1])
        if cut is not None:
            before[-1] = after[-1] = before[-1][: cut.start()]
        return Layer(b"".join(after), self, before, after, cut is not None)

    def pieces(self, start, end):
        """(start, end) of each part of a stretch, in the lowest text. Ends of lines and colours are between the parts."""
        self._locate()
        pieces = []
        for where, size, _, _ in self._parts[bisect_right(self._at, start) :]:
            if where >= end:
                break
            if size == 0 and where > start:
                pieces.append((self.start(start), self.end(where)))
                start = where
        return pieces + [(self.start(start), self.end(end))]

    def broken_after(self, start):
        """Where the line of this place ends in here. None: with the text."""
        self._locate()
        number = bisect_right(self._lines, start)
        if number < len(self._lines):
            return self._lines[number]
        return len(self.text) if self._is_line else None

    def read(self, escapes, is_last):
        """The layer above, with the escapes read. None when there are none."""
        parts = (escapes.whole if is_last else escapes.open).split(self.text)
        if len(parts) == 1:
            return None
        is_open = not is_last and not parts[-1] and escapes.cut.fullmatch(parts[-2]) is not None
        if is_open:
            del parts[-2:]
        after = parts[:]
        after[1::2] = map(escapes.meanings.__getitem__, parts[1::2])
        return Layer(b"".join(after), self, parts, after, is_open)


class Escapes:
    """A set of escapes that are read at once."""

    def __init__(self, cut, whole, meaning):
        self.cut = re.compile(cut, re.DOTALL)
        self.whole = re.compile(b"(" + whole + b")", re.DOTALL)
        self.open = re.compile(b"(" + cut + b"|" + whole + b")", re.DOTALL)
        self.meanings = _Meanings(meaning)


class _Meanings(dict):
    """What escapes mean, remembered."""

    def __init__(self, meaning):
        super().__init__()
        self._meaning = meaning

    def __missing__(self, escape):
        if len(self) >= _MAX_REMEMBERED:
            self.clear()
        data = self[escape] = self._meaning(escape)
        return data


class Reader:
    """Makes the layers of texts. @param quotes those of `'` and `"` that a secret holds: only these are written twice"""

    def __init__(self, quotes):
        self._backslash = Escapes(_CUT_BACKSLASH, _BACKSLASH, _bytes_of)
        self._plain = Escapes(rb"\\\Z", rb"\\[^\n]", lambda escape: escape[1:])
        cut = _CUT_OTHERS + b"".join(_CUT_QUOTES[quote] for quote in quotes)
        others = _OTHERS + b"".join(_QUOTES[quote] for quote in quotes)
        self._beside_backslash = Escapes(cut[1:], others[1:], _bytes_of)
        self._every = Escapes(_CUT_BACKSLASH + cut, _CODES + rb"|\\(?:[^\n%&]|\n[ \t]*)" + others, _bytes_of)
        self._others = re.compile(b"[%&" + b"".join(quotes) + b"]")

    def layers(self, text, is_last=True):
        """Every layer, the text itself first. Without escapes it is the only one."""
        lowest = Layer(text)
        yield lowest
        yield from self._lists_of(lowest, is_last)
        has_others = self._others.search(text) is not None
        if b"\\" in text:
            yield from self._plainly_above(lowest, is_last)
            for layer in self._above(lowest, self._backslash, _DEPTH_BACKSLASH, is_last):
                has_others = has_others or self._others.search(layer.text) is not None
                yield layer
                yield from self._lists_of(layer, is_last)
                yield from self._plainly_above(layer, is_last)
        if has_others:
            yield from self._above(lowest, self._every, _DEPTH, is_last)
            if b"\\" in text:
                # A backslash may be no escape, as in `C:\\`.
                yield from self._above(lowest, self._beside_backslash, 1, is_last)

    @staticmethod
    def _lists_of(layer, is_last):
        if _MAY_BE_LIST.search(layer.text) is not None:
            yield layer.listed(is_last)

    def _plainly_above(self, layer, is_last):
        """Where a backslash stands before each letter, none of them is the letter of an escape."""
        is_plain = _EVERY_LETTER.search(layer.text) is not None
        if is_plain or (not is_last and _LAST_LETTERS.search(layer.text) is not None):
            for above in self._above(layer, self._plain, _DEPTH_PLAIN, is_last):
                above.is_certain = is_plain
                yield above

    def readings(self, secret):
        """What becomes of a secret itself when its escapes are read."""
        return [layer.text for layer in self.layers(secret)]

    @staticmethod
    def _above(layer, escapes, depth, is_last):
        for _ in range(depth):
            layer = layer.read(escapes, is_last)
            if layer is None:
                return
            yield layer


def _bytes_of(escape):
    kind = escape[:1]
    if kind == b"%":
        return bytes((int(escape[1:], 16),))
    if kind == b"&":
        return _of_html(escape)
    if kind != b"\\":
        return kind
    letter, rest = escape[1:2], escape[2:]
    if letter == b"\n":
        return b""  # a shell goes on with the next line
    if letter in b"xuU" and rest:
        if rest[:1] == b"{":
            return _encoded(int(rest[1:-1], 16))
        if letter == b"x":
            return bytes((int(rest, 16),))
        if b"\\" in rest:
            high, low = int(rest[:4], 16), int(rest[6:], 16)
            return _encoded(0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF))
        return _encoded(int(rest, 16))
    if letter in b"01234567":
        return bytes((int(escape[1:], 8) & 0xFF,))
    return _SIMPLE.get(letter[0], letter)


def _of_html(escape):
    import html

    return html.unescape(escape.decode("ascii")).encode("utf-8", "surrogatepass")


def _encoded(number):
    return chr(number).encode("utf-8", "surrogatepass") if number <= 0x10FFFF else b"?"

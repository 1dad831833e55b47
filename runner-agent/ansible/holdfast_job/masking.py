"""Hiding secrets in what a job says: a mask in their place, in every form in which they are likely to appear.

The words to hide come with the job (protocol/src/secret-words.ts). Here they are looked for as they are, in the layers that reading escapes
gives (unescape.py), across the ends of lines, and in base64 and hexadecimal digits, which cannot be told from other text.
"""

import base64

from holdfast_job.needle_search import Search
from holdfast_job.unescape import Reader, is_broken

MASK = "********"
SHORTEST = 4
_SHORTEST_ACROSS = 8  # a word may be broken by the end of a line; a shorter one would be found by chance
_LEAST_BEFORE_BREAK = 4  # bytes of a word before the end of a line; fewer are not hidden
_WINDOW = 5
_LONGEST = 4096  # a longer needle is looked for in parts, so that little is held back
_MAX_NEEDLES = 20000
_MAX_BLANKS = 8
_BASE64_WIDTHS = (76, 64)
_MAX_HELD = 64 * 1024  # no secret has so many ends of lines in it
_CONTEXT = 4096  # bytes of a line that are read again with its rest, for escapes that began there


def needles_of(words, reader=None):
    """Every text to look for, as bytes. Words come first, then their forms, until there are too many."""
    reader = reader or reader_of(words)
    plain = [_bytes(word.strip()) for word in words]
    needles = {part: None for word in plain for part in _in_parts(word)}
    for word in plain:
        for form in _forms_of(word, reader):
            if len(needles) >= _MAX_NEEDLES:
                return list(needles)
            needles.update((part, None) for part in _in_parts(form))
    return list(needles)


def reader_of(words):
    """Reads the escapes of texts in which these words may stand."""
    return Reader([quote.encode() for quote in ("'", '"') if any(quote in word for word in words)])


def _bytes(text):
    return text.encode("utf-8", "surrogatepass")


def _in_parts(needle):
    if len(needle) <= _LONGEST:
        return [needle] if len(needle) >= SHORTEST else []
    last = len(needle) - _SHORTEST_ACROSS
    starts = range(0, last, _LONGEST)
    return [needle[at : at + _LONGEST] if at + _LONGEST < last else needle[at:] for at in starts]


def _forms_of(word, reader):
    if len(word) < SHORTEST:
        return
    # A word may look like escapes itself. What stands behind it may be one together with its last letter.
    rest = word.rstrip(b"\\%&")
    for text in (word, rest) if len(rest) >= _SHORTEST_ACROSS else (word,):
        for reading in reader.readings(text):
            yield reading
            yield reading.replace(b" ", b"+")
    if b" " in word:
        yield from _without_blanks(word)
    if not word.isascii():
        yield _of_small_bytes(word)
    yield from _base64_forms(word)
    yield word.hex().encode()
    yield word.hex().upper().encode()


def _of_small_bytes(word):
    """Python writes `\\xe9` for a letter, and older programs print that byte."""
    letters = word.decode("utf-8", "surrogatepass")
    return b"".join(bytes((ord(letter),)) if ord(letter) < 256 else _bytes(letter) for letter in letters)


def _without_blanks(word):
    """Where a line is broken at a blank, the blank is gone."""
    if word.count(b" ") <= _MAX_BLANKS:
        for at, byte in enumerate(word):
            if byte == 0x20:
                yield word[:at] + word[at + 1 :]
    yield word.replace(b" ", b"")


def _base64_forms(data):
    """By itself, and inside of something longer (`user:password`): there it may begin at any of three places of a group."""
    alone = base64.b64encode(data).rstrip(b"=")
    forms = [alone]
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + data).rstrip(b"=")
        first = (before * 8 + 5) // 6
        last = (before + len(data)) * 8 // 6
        if last - first >= _SHORTEST_ACROSS:
            forms.append(encoded[first:last])
    for width in _BASE64_WIDTHS:
        if len(alone) > width:
            # Its lines, which may be parts of a list.
            lines = [alone[at : at + width] for at in range(0, len(alone), width)]
            forms += [line for line in lines if len(line) >= _SHORTEST_ACROSS]
    for form in forms:
        yield form
        yield form.replace(b"+", b"-").replace(b"/", b"_")


class Hider:
    """Replaces needles in texts and bytes: they are found wherever they are, also where they overlap."""

    def __init__(self, words):
        self._reader = reader_of(words)
        needles = needles_of(words, self._reader)
        across = [needle for needle in needles if len(needle) >= _SHORTEST_ACROSS and not is_broken(needle)]
        others = set(needles).difference(across)
        self._across = Search(across, _WINDOW)
        self._inside = Search(others, SHORTEST) if others else None

    def occurs_in(self, text):
        return bool(self.spans(_bytes(text)))

    def hide(self, text):
        """The text with masks. The same text when there is nothing to hide."""
        data = _bytes(text)
        shown = self.hide_bytes(data)
        return text if shown is data else shown.decode("utf-8", "surrogatepass")

    def hide_bytes(self, data):
        spans = self.spans(data)
        if not spans:
            return data
        return _masked(data, spans)

    def hide_list(self, texts):
        """Texts that follow each other. A word may begin in one and end in the next one, such as base64 in lines."""
        data = [_bytes(text) for text in texts]
        found, shown, at = self.spans(b"\n".join(data)), [], 0
        for text, part in zip(texts, data):
            end = at + len(part)
            here = [(max(first, at) - at, min(last, end) - at) for first, last in found if first < end and last > at]
            shown.append(_masked(part, here).decode("utf-8", "surrogatepass") if here else text)
            at = end + 1
        return shown

    def spans(self, data):
        """(start, end) of each part to hide, in order. Parts that touch are joined."""
        found = []
        for layer in self._reader.layers(data):
            self._find(layer, found)
        return _merged(found)

    def look(self, data):
        """For bytes that go on: (parts to hide, where a word may begin whose rest has not come, from where to wait for it)."""
        found, keep, hold = [], len(data), len(data)
        for layer in self._reader.layers(data, False):
            if layer.is_certain:
                self._find(layer, found)
            joined = layer.joined()
            for read in (layer, joined):
                if read.is_open:
                    hold = min(hold, read.start(len(read.text)))
            begin = self._across.begun(joined.text)
            if begin < len(joined.text):
                keep = min(keep, joined.start(begin))
                hold = min(hold, _wait_from(joined, begin, len(data)))
            if self._inside is not None:
                begin = self._inside.begun(layer.text)
                if begin < len(layer.text):
                    hold = min(hold, layer.start(begin))
        return _merged(found), min(keep, hold), hold

    def _find(self, layer, found):
        if self._inside is not None:
            found += [(layer.start(start), layer.end(end)) for start, end in _merged(self._inside.find(layer.text))]
        joined = layer.joined()
        across = []
        for start, end in self._across.find(joined.text):
            first_break = joined.broken_after(start)
            if first_break is not None and first_break < end and first_break - start < _LEAST_BEFORE_BREAK:
                start = first_break
            across.append((start, end))
        # A word of one letter many times is found at each place of a long run of it.
        for start, end in _merged(across):
            found += joined.pieces(start, end)


def _masked(data, spans):
    parts, at = [], 0
    for start, end in spans:
        parts += [data[at:start], MASK.encode()]
        at = end
    return b"".join(parts + [data[at:]])


def _wait_from(joined, begin, size):
    """From where bytes wait. A line is not late because its last letters may be the first ones of a word."""
    line_end = joined.broken_after(begin)
    if line_end is None or line_end - begin >= _LEAST_BEFORE_BREAK:
        return joined.start(begin)
    return joined.start(line_end) if line_end < len(joined.text) else size


def _merged(found):
    """In order; those that touch are one."""
    merged = []
    for start, end in sorted(found):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


class StreamHider:
    """Hides words in bytes that come in pieces.

    Held back is only what may be the beginning of a word, so a line that is no secret is never late; what is held goes on with
    the next piece or at the end, and not after a while, because half a secret is one too many.
    """

    def __init__(self, words):
        self._hider = Hider(words)
        self._data = b""
        self._given = 0  # bytes of the data that were given out, as they are or as a mask
        self._after_mask = False  # whether the last output was a mask

    def feed(self, piece):
        return self._take(self._data + piece, False)

    def finish(self):
        return self._take(self._data, True)

    def state(self):
        """What the next supervisor needs to go on, as plain values."""
        return self._data, self._given, self._after_mask

    def restore(self, state):
        if state is not None:
            self._data, self._given, self._after_mask = state

    def _take(self, data, is_last):
        size = len(data)
        spans, keep, hold = (self._hider.spans(data), size, size) if is_last else self._hider.look(data)
        if size - keep > _MAX_HELD:
            keep = hold = size
        parts, at = [], self._given
        for start, end in spans:
            if start >= hold:
                break
            if end <= at:
                continue
            if start > at or not self._after_mask:
                parts += [data[at:start], MASK.encode()]
                self._after_mask = True
            at = end
        if at < hold:
            parts.append(data[at:hold])
            self._after_mask = False
            at = hold
        first = max(data.rfind(b"\n", 0, keep) + 1, keep - _CONTEXT)
        self._data = data[first:]
        self._given = at - first
        return b"".join(parts)

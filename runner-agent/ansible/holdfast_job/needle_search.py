"""Finds many texts at once in bytes, in one pass.

Each needle is looked for by a window: five of its bytes, beginning with one that is rare in what ansible prints. So a search stops only at
rare bytes. It compares what stands there with the few needles of that window.
"""

import re

# From the rarest to the most frequent. All other bytes are rarer than these.
_FREQUENT = b'QXZ~^@J|;`#<>&KjYq%$UVzH+W}{?BGMFDLxkPCRNO!SI98TA7E!6543v\\b=wy"\'21fpg0/()][mhuc*d,lr:noi_sate.-\n '
_RANK = [0] * 256
for _place, _byte in enumerate(_FREQUENT):
    _RANK[_byte] = _place + 1
_LOOKED_AT = 24  # the first places of a needle where its window may begin
_NEAR = 128  # longer needles are few, so the beginning of each of them is looked for by itself
_BEGINNING = 16


class Search:
    """Looks for needles in bytes. @param window bytes of a window, no more than the shortest needle has"""

    def __init__(self, needles, window):
        self._window = window
        self._by_window = {}
        self._firsts = bytearray(256)
        for needle in sorted(needles, key=len):
            self._add(needle)
        self._pattern = re.compile(_pattern_of(_tree_of(self._by_window)), re.DOTALL) if self._by_window else None
        self._long = [needle for needle in needles if len(needle) > _NEAR]
        self._beginnings = {needle[:count]: () for needle in needles for count in range(1, window)}
        for needle in needles:
            self._beginnings[needle[:window]] = self._beginnings.get(needle[:window], ()) + (needle,)

    def _add(self, needle):
        """Prefers a first byte that other windows have, then a rare one, then a window that few needles have."""
        _, at, window = min(self._choices(needle))
        self._firsts[window[0]] = 1
        self._by_window.setdefault(window, []).append((at, needle))

    def _choices(self, needle):
        for at in range(min(len(needle) - self._window + 1, _LOOKED_AT)):
            window = needle[at : at + self._window]
            rarity = 0 if self._firsts[window[0]] else _RANK[window[0]] + 1
            yield rarity + 4 * len(self._by_window.get(window, ())), at, window

    def find(self, text):
        """(start, end) of everything found, in no order. Of those that begin at the same place, perhaps only the longest."""
        if self._pattern is None:
            return
        search, window = self._pattern.search, self._window
        found = search(text)
        while found is not None:
            place = found.start()
            for at, needle in self._by_window[text[place : place + window]]:
                if at <= place and text.startswith(needle, place - at):
                    yield place - at, place - at + len(needle)
            found = search(text, place + 1)

    def begun(self, text):
        """Where a needle may begin whose rest has not come yet: the first such place, or the end of the text."""
        size = first = len(text)
        for needle in self._long:
            at = text.find(needle[:_BEGINNING], max(0, size - len(needle) + 1))
            while 0 <= at < first:
                if needle.startswith(text[at:]):
                    first = at
                at = text.find(needle[:_BEGINNING], at + 1)
        beginnings, window = self._beginnings, self._window
        for at in range(max(0, size - _NEAR), first):
            head = text[at : at + window]
            if head in beginnings and self._may_go_on(head, text[at:]):
                return at
        return first

    def _may_go_on(self, head, rest):
        return len(head) < self._window or any(
            len(needle) > len(rest) and needle.startswith(rest) for needle in self._beginnings[head]
        )


def _tree_of(words):
    tree = {}
    for word in words:
        node = tree
        for byte in word:
            node = node.setdefault(byte, {})
    return tree


def _pattern_of(tree):
    """The tree as a regular expression. It branches where words differ, so no byte is compared with every word."""
    if not tree:
        return b""
    branches = [re.escape(bytes((byte,))) + _pattern_of(below) for byte, below in sorted(tree.items())]
    return branches[0] if len(branches) == 1 else b"(?:" + b"|".join(branches) + b")"

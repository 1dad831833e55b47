"""Marks in ansible's output: one after each event, so that every piece of output belongs to an event.

A mark is `ESC _`, eight bytes that are the same in one run, the number of the event, and `ESC \\`. All bytes in between have the
form 10xxxxxx, of which a text never consists: so no secret is found in a mark, and no text is one. A terminal shows nothing of it.
The control plane takes the marks out of what it shows (control-plane/src/runners/streams/output-marks.ts).
"""

import os
import re
import sys

_BEGIN = b"\x1b_"
_END = b"\x1b\\"
_DIGIT = 0x80
_DIGIT_BITS = 6
_WORD_BYTES = 8
_OUTPUT = 1

_MARK = re.compile(b"\x1b_[\x80-\xbf]{9,15}\x1b\\\\")


class OutputMarks:
    """Writes marks to ansible's output, after everything that ansible has printed before."""

    def __init__(self):
        self._head = _BEGIN + bytes(_DIGIT | byte & 0x3F for byte in os.urandom(_WORD_BYTES))
        self._pid = os.getpid()

    def write(self, order):
        """Writes one mark. It is so short that a pipe takes it whole. A forked worker writes none."""
        if os.getpid() != self._pid:
            return
        try:
            sys.stdout.flush()
            os.write(_OUTPUT, self._head + _digits_of(order) + _END)
        except OSError:
            pass  # Nobody reads the output any more; ansible finds that out itself.


def without_marks(data):
    """The output as people see it."""
    return _MARK.sub(b"", data) if _BEGIN in data else data


def ends_line(data, before):
    """Whether people see the output at the beginning of a line after these bytes. @param before whether they did before"""
    end = len(data)
    while data.endswith(_END, 0, end):
        at = data.rfind(_BEGIN, 0, end)
        if at < 0 or _MARK.fullmatch(data, at, end) is None:
            break
        end = at
    return before if end == 0 else data.endswith(b"\n", 0, end)


def _digits_of(number):
    digits = []
    while number or not digits:
        digits.append(_DIGIT | number & 0x3F)
        number >>= _DIGIT_BITS
    return bytes(reversed(digits))

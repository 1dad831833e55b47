"""Reads a pipe so that a supervisor may be killed at any moment: the next one knows which bytes were taken and not used.

The bytes go through a spare pipe into memory that the keeper holds open. The spare pipe has no other user. So it is empty or
full, and that says whether its bytes have reached the memory. Each piece ends with what its user knows then (`done`), by
which the next supervisor finds out how much of a later piece was used.
"""

import array
import fcntl
import marshal
import mmap
import os
import termios

from holdfast_job.board import HANDOVER_BYTES, PIECE_BYTES, SLOT_BYTES

_WORDS = 64
_PIECE = 4096
_SLOTS = _PIECE + PIECE_BYTES
_IDLE, _READING, _TAKEN = 0, 1, 2

_splice = getattr(os, "splice", None)  # since Python 3.10; before, bytes in the hands of a killed supervisor are lost
_NONBLOCK = 2  # SPLICE_F_NONBLOCK


class Handover:
    """One pipe of a job, which does not block. `take` and `done` alternate."""

    def __init__(self, job, number, pipe):
        self._pipe = pipe
        self._reader, self._writer = job.spare_pipes[number]
        self._map = mmap.mmap(job.board.memory, HANDOVER_BYTES, offset=job.board.place_of_handover(number))
        self._words = memoryview(self._map)[:_WORDS].cast("Q")  # the state with the number of the slot; the length of the piece
        self._piece = memoryview(self._map)[_PIECE:_SLOTS]

    def resume(self):
        """What a killed supervisor has left: (what it said in its last `done`, or None; a piece that may be used in part)."""
        state, slot = self._words[0] & 3, self._words[0] >> 2
        known = marshal.loads(memoryview(self._map)[self._place(slot) :]) if slot else None
        waiting = self._waiting()
        if waiting:
            return known, self._fetch(waiting)
        return known, b"" if state == _IDLE else bytes(self._piece[: self._words[1]])

    def take(self):
        """The next bytes; empty at the end. Raises BlockingIOError when there are none now."""
        if _splice is None:
            return os.read(self._pipe, PIECE_BYTES)
        count = _splice(self._pipe, self._writer, PIECE_BYTES, flags=_NONBLOCK)
        return self._fetch(count) if count else b""

    def done(self, known):
        """The piece is used. `known` is what its user knows now: a tuple of plain values."""
        slot = 2 if self._words[0] >> 2 == 1 else 1
        data = marshal.dumps(known)
        if len(data) <= SLOT_BYTES:
            self._map[self._place(slot) : self._place(slot) + len(data)] = data
            self._words[0] = slot << 2 | _IDLE

    def _fetch(self, count):
        self._words[1] = count
        self._words[0] = self._words[0] >> 2 << 2 | _READING
        os.readv(self._reader, [self._piece[:count]])
        self._words[0] = self._words[0] >> 2 << 2 | _TAKEN
        return bytes(self._piece[:count])

    def _waiting(self):
        count = array.array("i", [0])
        fcntl.ioctl(self._reader, termios.FIONREAD, count)
        return count[0]

    @staticmethod
    def _place(slot):
        return _SLOTS + (slot - 1) * SLOT_BYTES

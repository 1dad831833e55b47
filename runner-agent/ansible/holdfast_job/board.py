"""What a killed supervisor leaves to the next one: a few numbers in memory that the keeper holds open.

Each number is written by one system call. So it is there, or it is not there.
"""

import os

_PID, _STARTED_AT, _STATUS, _STOPPED = 0, 8, 40, 48
_TIME_BYTES = 24

# Memory for one pipe that is read by way of a handover (handover.py): numbers, a piece, and two places for what its user knows.
PIECE_BYTES = 64 * 1024
SLOT_BYTES = 1024 * 1024
HANDOVER_BYTES = 4096 + PIECE_BYTES + 2 * SLOT_BYTES
_FIRST_HANDOVER = 4096


class Board:
    """Made before the fork; keeper and supervisors write and read it. Zeros mean that a thing is not known."""

    def __init__(self):
        self._file = self.memory = os.memfd_create("holdfast-board", os.MFD_CLOEXEC)
        os.ftruncate(self._file, _FIRST_HANDOVER + 2 * HANDOVER_BYTES)

    @staticmethod
    def place_of_handover(number):
        """Where in the memory the first (0) or the second (1) handover is."""
        return _FIRST_HANDOVER + number * HANDOVER_BYTES

    def note_start(self, pid, started_at):
        """Ansible was started."""
        os.pwrite(self._file, started_at.encode()[:_TIME_BYTES], _STARTED_AT)
        self._write(_PID, pid)

    def note_status(self, status):
        """Ansible has ended, and this is what `waitpid` said of it."""
        self._write(_STATUS, status + 1)

    def note_stopped(self):
        """An abort has signalled ansible."""
        self._write(_STOPPED, 1)

    @property
    def ansible_pid(self):
        return self._read(_PID) or None

    @property
    def started_at(self):
        return os.pread(self._file, _TIME_BYTES, _STARTED_AT).rstrip(b"\0").decode() or None

    @property
    def status(self):
        """As `waitpid` gives it, or None."""
        return self._read(_STATUS) - 1 if self._read(_STATUS) else None

    @property
    def is_stopped(self):
        return self._read(_STOPPED) != 0

    def _write(self, place, number):
        os.pwrite(self._file, number.to_bytes(8, "little"), place)

    def _read(self, place):
        return int.from_bytes(os.pread(self._file, 8, place), "little")

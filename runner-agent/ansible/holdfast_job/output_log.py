"""output.log: what ansible printed, byte for byte. Length and hash count only bytes that are in the file."""

import hashlib
import os
import time

from holdfast_job.output_marks import ends_line

_TRY_AGAIN_AFTER = 0.25


class PassThrough:
    """For a job without secrets. Whatever stands in this place sees the output before it is written anywhere.

    `feed` may hold bytes back, because a secret can lie across two pieces; `finish` gives the rest (masking.py).
    """

    def feed(self, piece):
        return piece

    def finish(self):
        return b""

    def state(self):
        """What the next supervisor needs to go on, as plain values."""
        return ()

    def restore(self, state):
        pass


class OutputLog:
    """Never raises for a full or broken disk: it counts what is lost, says so in the log, and goes on."""

    def __init__(self, file, limit, mask):
        self._file = file
        self._limit = limit
        self._mask = mask
        self._hash = hashlib.sha256()
        self._fresh_line = True
        self._limit_reached = False
        self._limit_notice_due = False
        self._lost = 0
        self._lost_why = ""
        self._try_again_at = 0.0
        self._written = b""
        self.length = 0
        self.dropped = 0

    def feed(self, piece):
        self._take(self._mask.feed(piece))

    def state(self):
        """What the next supervisor needs to go on, as plain values."""
        flags = (self._fresh_line, self._limit_reached, self._limit_notice_due)
        return (self.length, self.dropped, self._lost, self._lost_why, flags, self._mask.state())

    def restore(self, state):
        """Goes on after a killed supervisor. `state`: what it knew last, or None.

        What is in the file beyond that is from the piece after it. It is written again from the same bytes, so the beginning
        of what comes next is there already.
        """
        if state is not None:
            self.length, self.dropped, self._lost, self._lost_why, flags, mask = state
            self._fresh_line, self._limit_reached, self._limit_notice_due = flags
            self._mask.restore(mask)
        left = self.length
        with open("/proc/self/fd/%d" % self._file, "rb") as file:
            while left > 0:
                piece = file.read(min(left, 1 << 20))
                if not piece:
                    break
                self._hash.update(piece)
                left -= len(piece)
            self._written = file.read()

    def finish(self):
        """Writes the last bytes and notices. A disk that was full is tried once more: space was reserved for this moment."""
        self._take(self._mask.finish())
        self._try_again_at = 0.0
        self._write_notices()

    def seal(self):
        """Syncs and returns (length, hash in hex, problem or None) of the bytes that are in the file."""
        problem = None
        try:
            os.fsync(self._file)
        except OSError as error:
            problem = "output.log could not be synced to the disk: %s" % error.strerror
        if os.fstat(self._file).st_size == self.length:
            return self.length, self._hash.hexdigest(), problem
        length, digest = hash_of_file("/proc/self/fd/%d" % self._file)
        return length, digest, problem or "output.log was changed by somebody else"

    def _take(self, data):
        if not data:
            return
        if self._limit_reached:
            self.dropped += len(data)
            self._write_notices()
            return
        room = max(0, self._limit - self.length)
        if len(data) <= room:
            self._append(data)
            return
        self._append(data[:room])
        self.dropped += len(data) - room
        self._limit_reached = self._limit_notice_due = True
        self._write_notices()

    def _append(self, data):
        if not self._write_notices():
            self._lose(len(data), self._lost_why)
            return
        written, error = self._write(data)
        if error is not None:
            self._lose(len(data) - written, error.strerror)

    def _lose(self, count, why):
        self.dropped += count
        self._lost += count
        self._lost_why = why

    def _write_notices(self):
        """Writes the notices that must come before the next bytes. False while the disk does not take them."""
        if self._lost:
            if not self._write_notice("%d bytes of output lost: %s" % (self._lost, self._lost_why)):
                return False
            self._lost = 0
        if self._limit_notice_due:
            text = "The output limit of %d bytes is reached: further output is not kept. The playbook goes on." % self._limit
            self._limit_notice_due = not self._write_notice(text)
        return not self._limit_notice_due

    def _write_notice(self, text):
        now = time.monotonic()
        if now < self._try_again_at:
            return False
        line = ("" if self._fresh_line else "\n") + "[holdfast] " + text + "\n"
        _, error = self._write(line.encode())
        if error is not None:
            self._try_again_at = now + _TRY_AGAIN_AFTER
            return False
        return True

    def _write(self, data):
        """Returns (bytes that reached the file, error or None)."""
        done = self._skip_written(data)
        while done < len(data):
            try:
                count = os.write(self._file, data[done:] if done else data)
            except OSError as error:
                return done, error
            reached = data if count == len(data) else data[done : done + count]
            self._hash.update(reached)
            self._fresh_line = ends_line(reached, self._fresh_line)
            self.length += count
            done += count
        return done, None


    def _skip_written(self, data):
        """How many of these bytes a killed supervisor has written already. They are counted as if they were written now."""
        if not self._written:
            return 0
        count = min(len(self._written), len(data))
        if self._written[:count] != data[:count]:
            # It wrote something else, such as a notice about a full disk. That stays, and the bytes follow.
            data, count, done = self._written, len(self._written), 0
        else:
            done = count
        reached, self._written = data[:count], self._written[count:]
        self._hash.update(reached)
        self._fresh_line = ends_line(reached, self._fresh_line)
        self.length += count
        return done


def hash_of_file(path):
    """(length, SHA-256 in hex), read in pieces."""
    digest = hashlib.sha256()
    length = 0
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        while True:
            piece = os.read(descriptor, 1 << 20)
            if not piece:
                return length, digest.hexdigest()
            digest.update(piece)
            length += len(piece)
    finally:
        os.close(descriptor)

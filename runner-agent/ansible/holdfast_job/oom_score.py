"""Which process the kernel ends when the host has no memory left: rather the playbook than the one that knows how it ends."""

_FILE = "/proc/self/oom_score_adj"
_LOWER_BY = 500
_RAISE_BY = 100
_LEAST, _MOST = -999, 1000


def lower_own():
    """Lowers the score of this process where that is allowed. Returns the score for ansible: as it was, or else a higher one.

    None: nothing can be done here.
    """
    before = _read()
    if before is None:
        return None
    return before if set_own(max(_LEAST, before - _LOWER_BY)) else min(_MOST, before + _RAISE_BY)


def swap_own(score):
    """Sets the score, which children inherit. Returns the one before, or None."""
    before = None if score is None else _read()
    return before if before is not None and set_own(score) else None


def set_own(score):
    """False where that is not allowed. A score that this process had before may always be set again."""
    try:
        with open(_FILE, "wb", 0) as file:
            file.write(b"%d" % score)
        return True
    except OSError:
        return False


def _read():
    try:
        with open(_FILE, "rb", 0) as file:
            return int(file.read(16))
    except (OSError, ValueError):
        return None

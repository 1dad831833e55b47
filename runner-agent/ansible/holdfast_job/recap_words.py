"""What ansible counts for its recap, host by host, at the moment when it counts.

Whether a failure is rescued depends on where the host stands in the play, which no callback is told: tasks of included files
have other parents than the block around the include. But ansible counts first and calls the callbacks then, so what it has
counted for a host since the last event of that host is its own word about the event.
"""

import functools


class RecapWords:
    """The words counted for each host since its last event. None when this ansible counts in an unknown way."""

    def __init__(self):
        self._words = {}
        self._is_watching = False

    def watch(self, stats_class):
        """Listens to `increment` of the class of ansible's statistics, of which a run of ansible-playbook has one object."""
        count = getattr(stats_class, "increment", None)
        if count is None:
            return

        @functools.wraps(count)
        def increment(stats, what, host, *args, **kwargs):
            self._words.setdefault(host, []).append(what)
            return count(stats, what, host, *args, **kwargs)

        stats_class.increment = increment
        self._is_watching = True

    def take(self, host):
        """The words for a host since the last call, such as ["ok", "changed"]; None when nobody knows them."""
        words = self._words.pop(host, [])
        return words if self._is_watching else None

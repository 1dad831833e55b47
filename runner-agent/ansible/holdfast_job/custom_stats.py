"""What playbooks published with `set_stats`, for the event of the recap: only what no `no_log` hides."""

import copy

from holdfast_job import event_content as content
from holdfast_job.event_secrets import shown_host

_HIDDEN = "(hidden because of no_log)"


class CustomStats:
    """Adds up what visible results published, as ansible does. A sum that differs from ansible's came from hidden results, too."""

    def __init__(self, own):
        self._own = own

    def add(self, result):
        values = content.values_of(result)
        items = values.get("results")
        for item in items if isinstance(items, list) else [values]:
            stats = item.get("ansible_stats") if isinstance(item, dict) else None
            data = stats.get("data") if isinstance(stats, dict) else None
            if not isinstance(data, dict) or content.is_censored(result):
                continue
            host = content.host_of(result) if stats.get("per_host", True) else None
            put = self._own.update_custom_stats if stats.get("aggregate") else self._own.set_custom_stats
            for key, value in data.items():
                # ansible adds to lists in place, and other callbacks read the same result.
                put(key, copy.deepcopy(value), host)

    def shown(self, stats):
        """The custom statistics by host, those of the whole run under `_run`; None when there are none."""
        custom = getattr(stats, "custom", None)
        if not custom:
            return None
        return {
            shown_host(str(where)): {str(key): value if self._is_seen(key, value) else _HIDDEN for key, value in values.items()}
            for where, values in custom.items()
        }

    def _is_seen(self, key, value):
        """Compares values without their hosts: with `run_once` ansible stores one host's value for all hosts."""
        return any(key in values and values[key] == value for values in self._own.custom.values())

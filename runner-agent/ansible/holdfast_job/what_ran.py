"""What a playbook did at its hosts, as far as it takes to say that it did nothing. Ansible ends with 0 then, too."""

_MAX_NAMES = 3
_MAX_NAME = 60
_FACTS = "gather_facts"
_WORDS = {"runner_on_skipped": "skipped", "runner_on_unreachable": "unreachable"}


class WhatRan:
    """Counts the final results of hosts, and the plays that no host matched."""

    def __init__(self):
        self._unmatched = []  # names of plays as they may be shown
        self._counts = {"ran": 0, "facts": 0, "skipped": 0, "unreachable": 0}

    def no_host_matched(self, play):
        self._unmatched.append(play)

    def add(self, kind, task):
        """A final result that counts in the recap. Includes do not count: what they include does."""
        word = _WORDS.get(kind, "facts" if _is_own_gathering(task) else "ran")
        self._counts[word] += 1

    def remark(self, options):
        """A sentence for people, if nothing ran or a play had no host; else None.

        `options`: those of the command line. A play that had a host and no task is not named while others ran: conditions
        and tags are there for that.
        """
        unmatched = "no host%s matched the %s" % (
            " within the limit" if options.get("subset") else "",
            _named(self._unmatched),
        )
        if self._counts["ran"]:
            return unmatched if self._unmatched else None
        reasons = [unmatched] if self._unmatched else []
        if self._counts["skipped"]:
            reasons.append("every task was skipped")
        if self._counts["unreachable"]:
            reasons.append("no host could be reached")
        but_facts = " but the gathering of facts" if self._counts["facts"] else ""
        return "nothing ran%s: %s" % (but_facts, " and ".join(reasons or [_no_task(options)]))


def _is_own_gathering(task):
    """Whether ansible itself put the task at the beginning of the play. A task of the playbook comes from a file."""
    get_source = getattr(task, "get_ds", None)
    return task.action == _FACTS and get_source is not None and get_source() is None


def _no_task(options):
    """The words of the tags are not in it, because they may hold secrets. The job shows them."""
    sides = []
    if any(tag != "all" for tag in options.get("tags") or ()):
        sides.append("with the tags of this job")
    if options.get("skip_tags"):
        sides.append("without the skipped tags")
    return " ".join(["the playbook came to no task", " and ".join(sides)]).strip()


def _named(names):
    """Such as: plays 'a', 'b', 'c' and 4 more."""
    shown = ", ".join("'%s'" % name[:_MAX_NAME] for name in names[:_MAX_NAMES])
    more = " and %d more" % (len(names) - _MAX_NAMES) if len(names) > _MAX_NAMES else ""
    return "%s %s%s" % ("play" if len(names) == 1 else "plays", shown, more)

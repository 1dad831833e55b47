"""The values that events must not show. They are read once, when ansible loads the callback."""

import json

from holdfast_job.masking import MASK, Hider

_MAX_WARNINGS = 5

_hider = None
_origins = {}  # word to hide → whose secret it is
_hosts = {}  # name of a host → what events call it
_warned = []  # whose secrets were found in names, the first ones
_due = []


def read_hidden_values(path):
    """The values to hide, from the pipe of that name."""
    global _hider
    with open(path, encoding="utf-8", errors="surrogatepass") as pipe:
        hidden = json.load(pipe)
    _origins.update(zip(hidden["words"], hidden["origins"]))
    _hider = Hider(hidden["words"])


def may_be_in(encoded):
    """Whether the JSON text of an event may show a secret. This quick check spares nearly all events the slow one."""
    return _hider is not None and _hider.occurs_in(encoded)


def hide(text):
    return text if _hider is None else _hider.hide(text)


def hide_scalar(value):
    """Hides a single value. Ansible may have turned a secret into a number."""
    if _hider is None or value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _hider.hide(value)
    return MASK if isinstance(value, (int, float)) and _hider.occurs_in(str(value)) else value


def hide_list(texts):
    return texts if _hider is None else _hider.hide_list(texts)


def hide_name(name):
    """The name of a host, play, role or task as it may be shown. A name with a secret is worth a warning."""
    shown = hide(name)
    if shown != name:
        for word, origin in _origins.items():
            if word in name and origin not in _warned and len(_warned) < _MAX_WARNINGS:
                _warned.append(origin)
                _due.append(origin)
    return shown


def shown_host(name):
    """The name of a host in events. Two hosts never have the same name there: counts and pages tell them apart by it."""
    if _hider is None or name is None:
        return name
    if name not in _hosts:
        first = shown = hide_name(name)
        number = 1
        while shown != name and shown in _hosts.values():
            number += 1
            shown = "%s (%d)" % (first, number)
        _hosts[name] = shown
    return _hosts[name]


def warnings_due():
    """Sentences for the output, each of them once."""
    origins, _due[:] = _due[:], []
    return [
        "[holdfast] warning: the secret of %s is in the name of a host, play, role or task, so this name is shown as %s: "
        "use another secret or another name" % (origin, MASK)
        for origin in origins
    ]

"""The values that events must not show. They are read once, when ansible loads the callback."""

import json

from holdfast_job.masking import MASK, Hider, needles_of

_hider = None
_encoded_hider = None


def read_hidden_values(path):
    """The values to hide, from the pipe of that name."""
    global _hider, _encoded_hider
    with open(path, encoding="utf-8", errors="surrogatepass") as pipe:
        needles = needles_of(json.load(pipe))
    _hider = Hider(needles)
    _encoded_hider = Hider(sorted({json.dumps(needle)[1:-1] for needle in needles}))


def may_be_in(encoded):
    """Whether the JSON text of an event may show a secret. This quick check spares nearly all events the slow one."""
    return _encoded_hider is not None and _encoded_hider.occurs_in(encoded)


def hide(text):
    return text if _hider is None else _hider.hide(text)


def hide_scalar(value):
    """Hides a single value. Ansible may have turned a secret into a number."""
    if _hider is None or value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _hider.hide(value)
    return MASK if isinstance(value, (int, float)) and _hider.occurs_in(str(value)) else value

"""What the agent tells the supervisor: supervisor.json, and the secrets on standard input."""

import os

from holdfast_job.job import Refusal
from holdfast_job.transient_errors import retry_transient


def read_secrets(job):
    """From standard input, all of them or none: a job that needs them never starts without, and stays to be started."""
    try:
        pieces = []
        while not pieces or pieces[-1]:
            pieces.append(os.read(0, 1 << 20))
        text = b"".join(pieces).decode("utf-8", "surrogateescape")
        if not text.endswith("\n"):
            raise ValueError("cut off")
        secrets = parse_json(text)
        job.secrets = {"pipes": dict(secrets["pipes"]), "files": dict(secrets["files"]), "hidden": list(secrets["hidden"])}
    except Exception as error:
        # Not the error's own words, which may quote them.
        raise Refusal("the secrets of the job did not arrive whole (%s)" % type(error).__name__) from None
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def read_orders(job):
    try:
        job.orders = orders = parse_json(retry_transient(job, _text_of, job.path("supervisor.json")))
        job.run_id = orders["run_id"]
        job.marker = orders["marker"]
        ladder, drain = orders["abort_ladder_seconds"], orders["drain_seconds"]
        numbers = [ladder["interrupt"], ladder["terminate"], drain["quiet"], drain["total"], orders["output_limit_bytes"]]
        texts = [orders["cwd"], job.marker, *orders["argv"], *orders["env"].values()]
        if not orders["argv"] or not job.marker:
            raise ValueError("argv and marker must not be empty")
        if not all(isinstance(text, str) for text in texts) or not all(isinstance(n, (int, float)) for n in numbers):
            raise ValueError("a number or a text is of another type")
    except OSError as error:
        raise Refusal("supervisor.json could not be read: %s" % error.strerror)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Refusal("supervisor.json is not as it must be: %s: %s" % (type(error).__name__, error))


def _text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class _ScannerSettings:
    """What the built-in JSON scanner asks for; the `json` package would cost 4 ms of imports before the start."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo = {}


def parse_json(text):
    try:
        from _json import make_scanner

        return make_scanner(_ScannerSettings)(text, 0)[0]
    except Exception:
        import json

        return json.loads(text)

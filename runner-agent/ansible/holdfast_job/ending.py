"""end.json says how a run ended; nothing else does. exit.json comes before it and only says how ansible-playbook ended.

Both must get through on a full disk too.
"""

import errno
import json
import os
import time

from holdfast_job.event_file import shown_remark
from holdfast_job.job import iso_now
from holdfast_job.output_log import hash_of_file
from holdfast_job.output_signs import has_refused, remarks_of, text_of_output
from holdfast_job.second_place import write_second
from holdfast_job.transient_errors import is_transient

_RESERVE_BYTES = 64 * 1024
_EXIT_BYTES = 512
_RESERVE_KEPT = 8 * 1024
_TRY_AGAIN_AFTER = 1.0
_MESSAGE_LIMIT = 2000
_EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def keep_reserve(job):
    """Space on the disk for end.json and exit.json. It is reserved at the start, while there is some.

    Random bytes, which no file system can store as nothing.
    """
    for name, size in (("reserve", _RESERVE_BYTES), ("exit-reserve", _EXIT_BYTES)):
        if name == "exit-reserve" and os.path.exists(job.path("exit.json")):
            continue
        try:
            # One that is there was made by a supervisor that was killed.
            descriptor = os.open(job.path(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, os.urandom(size))
            finally:
                os.close(descriptor)
        except OSError:
            pass


def write_exit(job, exit_code, signal_name, stopped):
    """Makes durable how ansible-playbook ended, before anything else is done: until then only this process knows it.

    `stopped`: it was signalled by an abort before. Returns False when the disk does not take it now. Then it is in the
    second place.
    """
    record = {
        "run_id": job.run_id,
        "exit_code": exit_code,
        "signal": signal_name,
        "stopped": stopped,
        "started_at": job.started_at,
        "time": iso_now(),
    }
    data = json.dumps(record).encode() + b"\n"
    try:
        _write_into(job, "exit-reserve", data, "exit.json")
        return True
    except OSError as error:
        _write_second(job, "exit.json", data, error)
        return False


def end_without_start(job, cause, message):
    """The end of a job whose playbook was never started."""
    write_end(job, None, cause, message=message)


def write_end(job, output, cause, exit_code=None, signal_name=None, message=None):
    """Seals both streams and writes end.json: temporary name, sync, rename, sync of the folder."""
    _shrink_reserve(job)
    output_end, output_problem = _seal_output(job, output)
    events_end, events_problem, remark = _seal_events(job)
    remarks = _look_at_output(job, events_end, exit_code)
    if remark is not None and exit_code == 0:
        remarks = [remark, *remarks]
    text = "; ".join(problem for problem in (message, output_problem, events_problem, *remarks) if problem)
    record = {
        "run_id": job.run_id,
        "cause": cause,
        "exit_code": exit_code,
        "signal": signal_name,
        "message": _without_secrets(job, text)[:_MESSAGE_LIMIT] or None,
        "aborted": os.path.exists(job.path("abort.json")),
        "started_at": job.started_at,
        "ended_at": iso_now(),
        "output": output_end,
        "events": events_end,
    }
    _write_until_it_is_there(job, json.dumps(record).encode() + b"\n")


def _without_secrets(job, text):
    """An error may quote anything: a path, an argument, a line of a file."""
    if job.secrets is None or not text:
        return text
    try:
        from holdfast_job.masking import Hider

        return Hider(job.secrets["hidden"]).hide(text)
    except Exception as error:
        return "the message is not shown, because its secrets could not be hidden (%s)" % type(error).__name__


def _seal_output(job, output):
    """What output.log holds: as counted while it was written, or as read again when writing has failed."""
    try:
        output.finish()
        length, digest, problem = output.seal()
        return {"length": length, "sha256": digest, "dropped_bytes": output.dropped}, problem
    except Exception:
        dropped = 0 if output is None else output.dropped
    try:
        length, digest = _read_until_known(lambda: hash_of_file(job.path("output.log")))
        return {"length": length, "sha256": digest, "dropped_bytes": dropped}, None
    except OSError as error:
        problem = "output.log could not be read: %s" % error.strerror
        return {"length": 0, "sha256": _EMPTY_SHA256, "dropped_bytes": dropped}, problem


def _seal_events(job):
    """What events.jsonl holds, how the callback that wrote it fared, and what it remarks about a run that ended well."""
    end = {"length": 0, "sha256": _EMPTY_SHA256, "dropped": 0, "errors": 0, "plugin_seen": False}
    remark = None
    try:
        report = json.loads(_read_until_known(lambda: _text_of(job.path("callback.json"))))
        end["dropped"], end["errors"] = max(0, int(report["dropped"])), max(0, int(report["errors"]))
        end["plugin_seen"] = True
        remark = shown_remark(report.get("remark"))
    except Exception:
        pass  # the playbook can write there, too, so the content may be anything: infinite numbers, endless depth
    problem = None
    try:
        _sync_file(job.path("events.jsonl"))
    except OSError as error:
        problem = "events.jsonl could not be synced to the disk: %s" % error.strerror
    try:
        end["length"], end["sha256"] = _read_until_known(lambda: hash_of_file(job.path("events.jsonl")))
    except OSError as error:
        problem = "events.jsonl could not be read: %s" % error.strerror
    # Events are a stronger sign than a report that could not be written, such as on a full disk.
    end["plugin_seen"] = end["plugin_seen"] or end["length"] > 0
    return end, problem, remark


def _look_at_output(job, events_end, exit_code):
    """Remarks about the run; and notes in `events_end` that there could be no events, because ansible came to no play."""
    try:
        text = text_of_output(job.path("output.log"))
        if not events_end["plugin_seen"] and exit_code not in (None, 0) and has_refused(text):
            events_end["before_play"] = True
        return remarks_of(text)
    except Exception:
        return []  # an end without remarks is better than no end


def _read_until_known(read):
    """What a file holds. Nothing is concluded from a failure to read it: a transient error is waited out, however long.

    Unlike `retry_transient` it goes on after an abort: the end has to be written then, too.
    """
    while True:
        try:
            return read()
        except OSError as error:
            if not is_transient(error):
                raise
            time.sleep(0.5)


def _text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def _sync_file(path):
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _shrink_reserve(job):
    """Frees most of the reserve, so that the last notice fits into output.log."""
    try:
        os.truncate(job.path("reserve"), _RESERVE_KEPT)
    except OSError:
        pass


def _write_until_it_is_there(job, data):
    """Only this process knows how the run ended. So it gives up only when the job folder itself is gone.

    While the disk does not take the end, it is in the second place, from where the agent reports it.
    """
    while True:
        try:
            _write_into(job, "reserve", data, "end.json")
            return
        except OSError as error:
            if job.is_folder_removed():
                return
            _write_second(job, "end.json", data, error)
        time.sleep(_TRY_AGAIN_AFTER)


def _write_second(job, name, data, error):
    """A folder that is being removed is no reason: the agent has what it needs of the job."""
    if error.errno != errno.ENOENT:
        write_second(job, name, data)


def _write_into(job, reserve, data, name):
    """Writes into the reserve and renames it. So its blocks are used again, and a full disk needs no new ones."""
    path = job.path(reserve)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if os.pwrite(descriptor, data, 0) != len(data):
            raise OSError("short write")
        os.ftruncate(descriptor, len(data))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.rename(path, job.path(name))
    os.fsync(job.folder_fd)

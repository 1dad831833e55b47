"""Structured events of a playbook for Holdfast: one JSON line each, appended to the job's events.jsonl."""

DOCUMENTATION = """
name: holdfast_events
type: notification
short_description: writes structured events for the Holdfast runner
description:
  - Appends one JSON line per event to the file named by the environment variable HOLDFAST_EVENTS_FILE.
  - Does nothing when that variable is not set.
requirements:
  - enabled by the Holdfast runner agent
"""

import atexit
import functools
import os
import sys
import time

from ansible.context import CLIARGS
from ansible.executor.stats import AggregateStats
from ansible.plugins.callback import CallbackBase
from ansible.release import __version__ as ansible_version

_AGENT_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The parts lie outside of this folder, because ansible takes every file in here for a plugin.
sys.path.insert(0, _AGENT_FOLDER)
try:
    from holdfast_job import event_content as content
    from holdfast_job.custom_stats import CustomStats
    from holdfast_job.event_file import EventFile
    from holdfast_job.event_pipe import EventPipe
    from holdfast_job.event_secrets import read_hidden_values, shown_host, warnings_due
    from holdfast_job.output_marks import OutputMarks
    from holdfast_job.recap_words import RecapWords
    from holdfast_job.what_ran import WhatRan
finally:
    sys.path.remove(_AGENT_FOLDER)


def _harmless(method):
    """An event must never end a play: an error in here is counted and not raised."""

    @functools.wraps(method)
    def call(self, *args, **kwargs):
        try:
            method(self, *args, **kwargs)
        except Exception:
            self._events.count_error()

    return call


class TaskView:
    """What events say of a task, looked up once: its name is the one that ansible showed when the task started."""

    __slots__ = ("name", "uuid", "action", "resolved_action", "role", "path")

    def __init__(self, task, folder):
        self.name = content.name_of(task)
        self.uuid = task._uuid
        self.action = str(task.action)
        self.resolved_action = content.resolved_action_of(task)
        self.role = content.role_of(task)
        self.path = content.path_of(task, folder)


class HostRun:
    """One host at one task: since when, and what its loop has brought so far."""

    __slots__ = ("view", "started", "item_mark", "attempt_mark", "items", "diff_order")

    def __init__(self, view):
        self.view = view
        self.started = self.item_mark = self.attempt_mark = time.monotonic()
        self.items: "dict[str, int] | None" = None
        self.diff_order: "int | None" = None


class CallbackModule(CallbackBase):
    """Turns ansible's notifications into events. It is called from two threads, but ansible never lets both in at once."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "holdfast_events"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args, **kwargs):
        super(CallbackModule, self).__init__(*args, **kwargs)
        # Taken out of the environment, so that a playbook called by a playbook does not write into this job's events.
        events_path = os.environ.pop("HOLDFAST_EVENTS_FILE", None)
        pipe_path = os.environ.pop("HOLDFAST_EVENTS_PIPE", None)
        report_path = os.environ.pop("HOLDFAST_CALLBACK_FILE", None)
        secrets_path = os.environ.pop("HOLDFAST_SECRETS_FILE", None)
        has_marks = os.environ.pop("HOLDFAST_OUTPUT_MARKS", None) == "1"
        self._folder = _working_folder()
        self._play_name = self._play_uuid = None
        self._batches = {}  # play uuid → how many of its `serial` batches have begun
        self._play_marks = []  # (play uuid, name, when its first batch began)
        self._playbook_mark = time.monotonic()
        self._tasks = {}  # task uuid → TaskView, of the current play
        self._runs = {}  # (play uuid, batch, task uuid, host) → HostRun
        self._latest = {}  # host → its latest HostRun
        self._failures = {}  # host → [(order, whether it was rescued)], ignored ones left out
        self._recap_words = RecapWords()
        self._custom_stats = CustomStats(AggregateStats())
        self._what_ran = WhatRan()
        self._output_marks = OutputMarks() if has_marks else None
        if not events_path and not pipe_path:
            self.disabled = True
            return
        try:
            if secrets_path:
                read_hidden_values(secrets_path)
            if pipe_path:
                self._events = EventPipe(pipe_path, ansible_version)
            else:
                self._events = EventFile(events_path, report_path, ansible_version)
            atexit.register(self._events.report)
            self._recap_words.watch(AggregateStats)
        except Exception as error:
            self.disabled = True
            self._display.warning("holdfast_events: there will be no structured events: %s" % error)

    # Playbook, plays and tasks

    @_harmless
    def v2_playbook_on_start(self, playbook):
        self._playbook_mark = time.monotonic()
        self._play_name = self._play_uuid = None
        self._play_marks = []
        self._events.finished = False
        path = content.short_path(getattr(playbook, "_file_name", None), self._folder)
        self._emit("playbook_on_start", path=path)

    def v2_playbook_on_vars_prompt(
        self, varname, private=True, prompt=None, encrypt=None, confirm=False, salt_size=None, salt=None, default=None, unsafe=None
    ):
        """Ends ansible when a prompt has no default: it would go on with the text "None", because there is no terminal."""
        self._tell_of_prompt(varname, private, default is not None)
        if default is not None:
            return
        text = "[holdfast] the playbook asks for the variable %s (vars_prompt) and there is no terminal to answer at" % varname
        self._display.error(text + ": give it as an extra variable, or give the prompt a default", wrap_text=False)
        # Not an error of a callback, which ansible would pass over.
        raise SystemExit(1)

    @_harmless
    def _tell_of_prompt(self, varname, private, has_default):
        """Names only the variable: the text of the prompt and its default may hold anything."""
        self._emit("playbook_on_vars_prompt", result={"variable": str(varname), "private": bool(private), "default": has_default})

    @_harmless
    def v2_playbook_on_play_start(self, play):
        self._play_name = content.name_of(play)
        self._play_uuid = play._uuid
        if play._uuid not in self._batches:
            self._play_marks.append((play._uuid, self._play_name, time.monotonic()))
        self._batches[play._uuid] = self._batches.get(play._uuid, 0) + 1
        self._tasks.clear()
        self._runs.clear()
        self._latest.clear()
        self._emit("playbook_on_play_start", path=content.path_of(play, self._folder))

    @_harmless
    def v2_playbook_on_task_start(self, task, is_conditional):
        self._start_task("playbook_on_task_start", task)

    @_harmless
    def v2_playbook_on_handler_task_start(self, task):
        self._start_task("playbook_on_handler_task_start", task)

    @_harmless
    def v2_playbook_on_include(self, included_file):
        hosts = [host.get_name() for host in included_file._hosts]
        result = {"file": content.short_path(included_file._filename, self._folder), "hosts": [shown_host(host) for host in hosts]}
        view = self._view(included_file._task)
        for host in hosts:
            self._recap_words.take(host)
        self._emit("playbook_on_include", view, hosts[0] if len(hosts) == 1 else None, result=result)

    @_harmless
    def v2_playbook_on_notify(self, handler, host):
        self._emit("playbook_on_notify", self._view(handler), host.get_name())

    @_harmless
    def v2_playbook_on_no_hosts_matched(self):
        self._what_ran.no_host_matched(self._play_name)
        self._emit("playbook_on_no_hosts_matched")

    @_harmless
    def v2_playbook_on_no_hosts_remaining(self):
        self._emit("playbook_on_no_hosts_remaining")

    @_harmless
    def v2_playbook_on_stats(self, stats):
        """The recap: counts per host, how long each play took, and which failures were rescued after all."""
        now = time.monotonic()
        self._play_name = self._play_uuid = None
        ends = [started for _, _, started in self._play_marks[1:]] + [now]
        plays = [
            {"play": name, "play_uuid": uuid, "duration": round(end - started, 6)}
            for (uuid, name, started), end in zip(self._play_marks, ends)
        ]
        recap = content.recap_of(stats)
        rescued = sorted(order for host in self._failures for order in self._rescued_orders(host, recap))
        self._events.finished = True
        duration = now - self._playbook_mark
        marks = {"plays": plays, "rescued_orders": rescued, "custom_stats": self._custom_stats.shown(stats)}
        shown = {shown_host(host): counts for host, counts in recap.items()}
        self._emit("playbook_on_stats", duration=duration, result=shown, **marks)
        self._events.remark = self._what_ran.remark(CLIARGS)
        self._events.report()

    # Hosts

    @_harmless
    def v2_runner_on_start(self, host, task):
        run = HostRun(self._view(task))
        name = host.get_name()
        self._runs[self._key(run.view.uuid, name)] = self._latest[name] = run
        self._emit("runner_on_start", run.view, name)

    @_harmless
    def v2_runner_on_ok(self, result):
        self._custom_stats.add(result)
        self._final("runner_on_ok", result, self._words(result))

    @_harmless
    def v2_runner_on_failed(self, result, ignore_errors=False):
        words = self._words(result)
        is_rescued = "rescued" in words if words else content.will_be_rescued(content.task_of(result))
        is_rescued = is_rescued and not ignore_errors
        order = self._final("runner_on_failed", result, words, ignored=bool(ignore_errors), rescued=is_rescued)
        if order is not None and not ignore_errors:
            self._failures.setdefault(content.host_of(result), []).append((order, is_rescued))

    @_harmless
    def v2_runner_on_skipped(self, result):
        self._final("runner_on_skipped", result, self._words(result))

    @_harmless
    def v2_runner_on_unreachable(self, result):
        words = self._words(result)
        self._final("runner_on_unreachable", result, words, ignored=_says_yes(result, "ignore_unreachable"))

    @_harmless
    def v2_runner_retry(self, result):
        run = self._run(result)
        now = time.monotonic()
        self._emit_result("runner_retry", result, run, now - run.attempt_mark, content.shown_result(result, run))
        run.attempt_mark = now

    @_harmless
    def v2_runner_item_on_ok(self, result):
        self._item("runner_item_on_ok", "ok", result)

    @_harmless
    def v2_runner_item_on_failed(self, result):
        self._item("runner_item_on_failed", "failed", result, ignored=_says_yes(result, "ignore_errors"))

    @_harmless
    def v2_runner_item_on_skipped(self, result):
        self._item("runner_item_on_skipped", "skipped", result)

    @_harmless
    def v2_runner_on_async_poll(self, result):
        self._progress("runner_on_async_poll", result)

    @_harmless
    def v2_runner_on_async_ok(self, result):
        self._progress("runner_on_async_ok", result)

    @_harmless
    def v2_runner_on_async_failed(self, result):
        self._progress("runner_on_async_failed", result)

    @_harmless
    def v2_on_file_diff(self, result):
        difference = content.values_of(result).get("diff")
        if difference and not content.is_censored(result):
            run = self._run(result)
            run.diff_order = self._emit_result("runner_on_file_diff", result, run, None, {"diff": difference})

    # How events are made

    def _start_task(self, kind, task):
        view = self._tasks[task._uuid] = TaskView(task, self._folder)
        self._emit(kind, view)

    def _view(self, task):
        view = self._tasks.get(task._uuid)
        if view is None:
            view = self._tasks[task._uuid] = TaskView(task, self._folder)
        return view

    def _key(self, task_uuid, host):
        """`serial` repeats the uuids of play and tasks in every batch, `free` lets each host be at another task."""
        return self._play_uuid, self._batches.get(self._play_uuid), task_uuid, host

    def _run(self, result):
        """The run that a result belongs to. The polls of an async task come in the name of a task of their own."""
        task, host = content.task_of(result), content.host_of(result)
        run = self._runs.get(self._key(task._uuid, host))
        if run is None and task.action == "async_status":
            run = self._latest.get(host)
        return run or HostRun(self._view(task))

    def _words(self, result):
        return self._recap_words.take(content.host_of(result))

    def _final(self, kind, result, words, **marks):
        """The final result of a host at a task. @param words what the recap counted for it; [] when it counted nothing"""
        marks["uncounted"] = words == []
        if not marks["uncounted"]:
            self._what_ran.add(kind, content.task_of(result))
        run = self._run(result)
        self._runs.pop(self._key(run.view.uuid, content.host_of(result)), None)
        return self._emit_result(kind, result, run, time.monotonic() - run.started, content.shown_result(result, run), **marks)

    def _item(self, kind, outcome, result, **marks):
        run = self._run(result)
        now = time.monotonic()
        if run.items is None:
            run.items = {"ok": 0, "changed": 0, "failed": 0, "skipped": 0}
        run.items[outcome] += 1
        if content.values_of(result).get("changed"):
            run.items["changed"] += 1
        shown = content.shown_result(result, run)
        self._emit_result(kind, result, run, now - run.item_mark, shown, item=content.shown_item(result), **marks)
        run.item_mark = run.attempt_mark = now
        run.diff_order = None

    def _progress(self, kind, result):
        run = self._run(result)
        self._emit_result(kind, result, run, time.monotonic() - run.started, content.shown_progress(result))

    def _emit_result(self, kind, result, run, duration, shown, **marks):
        if "changed" in shown:
            marks["changed"] = shown["changed"] is True
        marks["attempts"] = shown.get("attempts")
        return self._emit(kind, run.view, content.host_of(result), duration, shown, **marks)

    def _emit(self, kind, view=None, host=None, duration=None, result=None, **marks):
        """Writes one event and returns its order. Marks that say nothing are left out; the result comes last."""
        event = {
            "order": 0,
            "type": kind,
            "play": self._play_name,
            "task": None if view is None else view.name,
            "host": shown_host(host),
            "duration": None if duration is None else round(duration, 6),
            "time": self._events.now(),
        }
        if self._play_uuid is not None:
            event["play_uuid"] = self._play_uuid
        if view is not None:
            event["task_uuid"] = view.uuid
            event["action"] = view.action
            event["resolved_action"] = view.resolved_action
            if view.role is not None:
                event["role"] = view.role
            event["path"] = view.path
        for mark, value in marks.items():
            if value is not None and (value is not False or mark in ("changed", "item")):
                event[mark] = value
        if result is not None:
            event["result"] = result
        order = self._events.write(event)
        # The callback that prints was called before this one, so its output stands before the mark.
        if order is not None and self._output_marks is not None:
            self._output_marks.write(order)
        for warning in warnings_due():
            self._display.display(warning, color="bright purple")
        return order

    def _rescued_orders(self, host, recap):
        """The failures of a host that were rescued. The recap says only how many, so it may have to be derived which ones."""
        failures = self._failures[host]
        count = recap.get(host, {}).get("rescued", 0)
        if count == 0 or count >= len(failures):
            return [order for order, _ in failures[:count]]
        return [order for order, is_rescued in failures if is_rescued]


def _says_yes(result, keyword):
    return getattr(content.task_of(result), keyword, False) is True


def _working_folder():
    try:
        return os.getcwd().rstrip("/") + "/"
    except OSError:
        return "/"

"""What an event says of ansible's objects: never task arguments, never facts in full, nothing under no_log.

Both shapes of a result are read: ansible-core 2.19 gave its parts public names.
"""

import re

from holdfast_job.event_secrets import hide, hide_name, shown_host

MAX_NAME = 1000
_MAX_ITEM_TEXT = 1000
_MAX_FACT_KEYS = 1000

_HIDDEN_KEYS = frozenset(
    ("invocation", "include_args", "ansible_loop", "ansible_loop_var", "ansible_index_var", "failed", "skipped")
)
# A module whose output ansible cannot read stands in there as it is, with its arguments.
_RAW_KEYS = ("module_stdout", "module_stderr", "msg", "exception")
_ARGUMENTS = re.compile(r'\\*"(?:invocation|module_args)\\*"\s*:')
_CUT_ARGUMENTS = "[the arguments of the module, and what follows them, are left out]"
_KEPT_OF_CENSORED = ("attempts", "retries", "changed")
_KEPT_OF_ASYNC = ("ansible_job_id", "started", "finished", "attempts", "retries", "changed")
_STATS = (
    ("ok", "ok"),
    ("changed", "changed"),
    ("unreachable", "unreachable"),
    ("failed", "failures"),
    ("skipped", "skipped"),
    ("rescued", "rescued"),
    ("ignored", "ignored"),
)


def values_of(result):
    return result.result if hasattr(result, "result") else result._result


def task_of(result):
    return result.task if hasattr(result, "task") else result._task


def host_of(result):
    return (result.host if hasattr(result, "host") else result._host).get_name()


def is_censored(result):
    """`no_log`, by each of the places where ansible may say so."""
    values = values_of(result)
    return "censored" in values or bool(values.get("_ansible_no_log")) or getattr(task_of(result), "no_log", False) is True


def shown_result(result, run):
    """What is sent of a result. Its deep parts are not copied, because they are only read, and at once.

    `ansible_stats` stays in it: workflows take from there what set_stats publishes.
    """
    values = values_of(result)
    task = task_of(result)
    if is_censored(result):
        shown = {key: values[key] for key in _KEPT_OF_CENSORED if key in values}
        shown["censored"] = "hidden because of no_log"
        is_whole_loop = run.items is not None and "ansible_loop_var" not in values
    else:
        hidden = _HIDDEN_KEYS | {values["ansible_loop_var"]} if "ansible_loop_var" in values else _HIDDEN_KEYS
        shown = {key: value for key, value in values.items() if key not in hidden and not str(key).startswith("_ansible_")}
        is_whole_loop = run.items is not None and "results" in shown
        _take_out_repetitions(shown, run, is_whole_loop)
        _take_out_private_parts(shown)
        if getattr(task, "delegate_to", None) and "_ansible_delegated_vars" in values:
            shown["_delegated_to"] = shown_host(str(task.delegate_to))
    if is_whole_loop:
        shown["_items"] = dict(run.items or ())
    return shown


def _take_out_repetitions(shown, run, is_whole_loop):
    """Leaves out items and file differences: they had events of their own."""
    if is_whole_loop or _are_item_results(shown.get("results")):
        del shown["results"]
    if run.diff_order is not None and "diff" in shown:
        del shown["diff"]
        shown["_diff_order"] = run.diff_order


def _are_item_results(value):
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and "ansible_loop_var" in value[0]


def _take_out_private_parts(shown):
    """Names the facts and the variables of a new host without their values: facts are large and often private."""
    for key in _RAW_KEYS:
        text = shown.get(key)
        found = _ARGUMENTS.search(text) if isinstance(text, str) else None
        if found is not None:
            shown[key] = text[: found.start()] + _CUT_ARGUMENTS
    facts = shown.get("ansible_facts")
    if isinstance(facts, dict):
        shown["ansible_facts"] = {"_count": len(facts), "_keys": sorted(str(key) for key in facts)[:_MAX_FACT_KEYS]}
    host = shown.get("add_host")
    if isinstance(host, dict):
        shown["add_host"] = {key: host[key] for key in ("host_name", "groups") if key in host}


def shown_progress(result):
    """How far a task in the background is. Its result comes once, with its final event."""
    values = values_of(result)
    return {key: values[key] for key in _KEPT_OF_ASYNC if key in values}


def shown_item(result):
    """The item as ansible labels it, or None."""
    values = values_of(result)
    if is_censored(result):
        return None
    item = values.get("_ansible_item_label", values.get(values.get("ansible_loop_var", "item")))
    if isinstance(item, (str, dict, list)):
        text = hide(str(item))
        return item if len(text) <= _MAX_ITEM_TEXT else text[:_MAX_ITEM_TEXT]
    return item


def recap_of(stats):
    """Counts per host, with the words of ansible's own recap."""
    recap = {}
    for host in sorted(stats.processed):
        summary = stats.summarize(host)
        recap[host] = {word: summary.get(key, 0) for word, key in _STATS}
    return recap


def will_be_rescued(task):
    """Whether a block around the task has a rescue for it. When that is not certain it is False; the recap says it later."""
    inner, outer = task, getattr(task, "_parent", None)
    while outer is not None:
        if getattr(outer, "rescue", None) and any(part._uuid == inner._uuid for part in outer.block):
            return True
        inner, outer = outer, getattr(outer, "_parent", None)
    return False


def resolved_action_of(task):
    """The action with its collection, such as ansible.builtin.copy, where ansible knows it; else as the playbook has it."""
    return hide(str(getattr(task, "resolved_action", None) or task.action))[:MAX_NAME]


def role_of(task):
    """The name of the role that a task belongs to, or None."""
    role = getattr(task, "_role", None)
    return None if role is None else hide_name(str(role.get_name()))[:MAX_NAME]


def name_of(shown):
    """The name of a play or a task as ansible shows it."""
    return hide_name(str(shown.get_name()).strip())[:MAX_NAME]


def path_of(shown, folder):
    """file:line of a play or a task, relative to the playbook folder where it lies in there."""
    get_path = getattr(shown, "get_path", None)
    return short_path(get_path(), folder) if get_path is not None else None


def short_path(path, folder):
    if not path:
        return None
    path = hide(str(path))
    return (path[len(folder) :] if path.startswith(folder) else path)[:MAX_NAME]

"""Roles and collections of a playbook folder, installed once for each content of its requirements.

The cache has a folder for each content: `<hash>/roles`, `<hash>/collections`. Another name is filled first and renamed when it is
whole, so a process that is killed leaves nothing that looks complete. One process at a time fills a folder: the others wait for its
lock, which the kernel gives back when the process ends, however it ends.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

_LOOK_SECONDS = 0.3
_UNUSED_SECONDS = 90 * 24 * 3600
_FAILED = 1


class Failure(Exception):
    """The requirements cannot be had; the text says why, for people."""


def main(arguments):
    """Does not return: this process becomes ansible-playbook, or ends with 1."""
    orders = json.loads(arguments[1])
    command = arguments[2:]
    try:
        folder = install(orders)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except Failure as failure:
        _say("the requirements could not be installed: %s" % failure)
        sys.exit(_FAILED)
    except OSError as error:
        _say("the requirements could not be installed: %s" % error)
        sys.exit(_FAILED)
    environment = dict(os.environ)
    environment["ANSIBLE_ROLES_PATH"] = os.path.join(folder, "roles") + ":" + orders["roles"]
    environment["ANSIBLE_COLLECTIONS_PATH"] = os.path.join(folder, "collections") + ":" + orders["collections"]
    environment.pop("ANSIBLE_COLLECTIONS_PATHS", None)
    # Python ignores them, and ansible would inherit that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    os.execve(command[0], command, environment)


def install(orders):
    """The folder that holds everything the files require."""
    deadline = time.monotonic() + orders["seconds"]
    if orders["cache"] is None:
        # A job with a user of its own cannot share with others.
        folder = tempfile.mkdtemp(prefix="requirements-")
        _fill(folder, orders, deadline)
        return folder
    os.makedirs(orders["cache"], mode=0o700, exist_ok=True)
    folder = os.path.join(orders["cache"], _hash_of(orders["files"]))
    with open(folder + ".lock", "a") as lock:
        _wait_for(lock, deadline)
        if not os.path.isdir(folder):
            partial = folder + ".partial"
            shutil.rmtree(partial, ignore_errors=True)
            os.mkdir(partial, 0o700)
            _fill(partial, orders, deadline)
            # ansible-galaxy has read the files again, so what it installed may belong to another hash.
            if os.path.join(orders["cache"], _hash_of(orders["files"])) != folder:
                raise Failure("the requirements changed while they were installed")
            os.rename(partial, folder)
        os.utime(folder)
    _remove_unused(orders["cache"])
    return folder


def _hash_of(files):
    """The hash of the files and of files that they name: a collection beside them may change under the same name."""
    digest = hashlib.sha256()
    for path in [*files, os.path.join(os.getcwd(), "ansible.cfg")]:
        text = _bytes_of(path)
        digest.update(b"%s\n%d\n%s" % (os.path.basename(path).encode(), len(text), text))
        for word in sorted(set(re.findall(rb"[^\s'\",]+", text))):
            named = os.fsdecode(word).rpartition("file://")[2]
            if "." in named and os.path.isfile(named):
                digest.update(hashlib.sha256(_bytes_of(named)).digest())
    return digest.hexdigest()


def _bytes_of(path):
    """The content; empty only when there is no such file. A file that cannot be read raises: it must not count as empty."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


def _wait_for(lock, deadline):
    is_said = False
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if not is_said:
                _say("another job installs the same requirements, so this one waits for it")
            is_said = True
        if time.monotonic() >= deadline:
            raise Failure("another job has not installed them in time")
        time.sleep(_LOOK_SECONDS)


def _fill(folder, orders, deadline):
    for path in orders["files"]:
        text = _bytes_of(path).decode("utf-8", "replace")
        _say("installing what %s requires" % os.path.relpath(path))
        # A list is the older form, for roles only.
        if re.search(r"^(roles\s*:|-)", text, re.MULTILINE):
            _run([orders["program"], "role", "install", "-r", path, "-p", os.path.join(folder, "roles")], folder, deadline)
        if re.search(r"^collections\s*:", text, re.MULTILINE):
            target = os.path.join(folder, "collections")
            _run([orders["program"], "collection", "install", "-r", path, "-p", target], folder, deadline)


def _run(command, folder, deadline):
    environment = dict(os.environ)
    # Parts that are installed elsewhere are installed here, too, so that the cache needs no other folder.
    environment["ANSIBLE_ROLES_PATH"] = os.path.join(folder, "roles")
    environment["ANSIBLE_COLLECTIONS_PATH"] = os.path.join(folder, "collections")
    environment.pop("ANSIBLE_COLLECTIONS_PATHS", None)
    child = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, preexec_fn=os.setpgrp)
    try:
        status = child.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise Failure("ansible-galaxy took longer than the time limit of this runner (RTE_GALAXY_MINUTES)")
    finally:
        _end(child)
    if status != 0:
        raise Failure("ansible-galaxy ended with %d" % status)


def _end(child):
    """Ends the process and everything that it has started, such as git."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except OSError:
        pass
    child.wait()


def _remove_unused(cache):
    """Removes folders that no job has used for a long time."""
    try:
        for name in os.listdir(cache):
            path = os.path.join(cache, name)
            if not re.fullmatch("[0-9a-f]{64}", name) or not _is_unused(path):
                continue
            with open(path + ".lock", "a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_unused(path):
                    shutil.rmtree(path, ignore_errors=True)
    except OSError:
        pass  # somebody is about to use it


def _is_unused(path):
    return time.time() - os.stat(path).st_mtime > _UNUSED_SECONDS


def _say(text):
    print("[holdfast] " + text, flush=True)

"""Whether jobs can have users of their own here, tried with each of them; and the end of a job whose supervisor is gone."""

import errno
import json
import os
import pwd
import sys
import time

from holdfast_job.rights import leave_common_folders
from holdfast_job.users import JobUser, is_of, run_as

try:
    import _signal as signal
except ImportError:
    import signal

_PRIVATE = ("/tmp", "/var/tmp")
_NO_LOGIN = ("/bin/false", "/usr/bin/false", "/sbin/nologin", "/usr/sbin/nologin", "/bin/nologin", "/usr/bin/nologin")
# More names would make the sentence too long to be read.
_MOST_NAMED = 100
_RIGHTS = (
    "this agent may not act for other users (%s): run it as root, or give its unit "
    "AmbientCapabilities=CAP_SETUID CAP_SETGID CAP_CHOWN CAP_KILL"
)


class Unfit(Exception):
    """Jobs cannot have users of their own here; the sentence says why."""


def main(arguments):
    asked = json.load(sys.stdin)
    if arguments[1:] == ["check"]:
        answer = _answer_of(check, asked)
    elif arguments[1:] == ["release"]:
        answer = {"left": release(asked["job"], asked["folder"])}
    else:
        return 2
    print(json.dumps(answer))
    return 0


def _answer_of(action, asked):
    try:
        return action(asked)
    except Unfit as unfit:
        return {"problem": str(unfit)}
    except OSError as error:
        return {"problem": "%s: %s" % (error.filename or "a try with the first user", error.strerror or error)}


def check(asked):
    """`users`: names or numbers; `folder`: where their homes shall be; `read`, `run`: what they need; `hidden`: what they must not read."""
    entries = [_entry_of(word) for word in asked["users"]]
    if len({entry["uid"] for entry in entries}) < len(entries):
        raise Unfit("RTE_ISOLATION_USERS names a user twice")
    _refuse_other_homes(entries, asked["folder"])
    warnings = []
    _open_way_to(asked["folder"], asked["state"])
    for entry in entries:
        _try_user(JobUser(entry, asked["folder"]), asked)
    unknown = [entry["name"] for entry in entries if not entry["known"]]
    if unknown:
        warnings.append("%s: not in the list of users, so ssh and gathering facts of this host will fail" % unknown[0])
    users = [{key: entry[key] for key in ("uid", "gid", "name", "groups")} for entry in entries]
    return {"users": users, "private": _private_folders(entries[0], asked), "warnings": warnings}


def _entry_of(word):
    """A user by its name; a number needs no entry in the list of users."""
    try:
        found = pwd.getpwuid(int(word)) if word.isdigit() else pwd.getpwnam(word)
    except KeyError:
        if not word.isdigit():
            raise Unfit("RTE_ISOLATION_USERS: there is no user %s on this host" % word)
        number = int(word)
        entry = {"uid": number, "gid": number, "name": word, "groups": [], "known": False}
    else:
        shell = found.pw_shell or "/bin/sh"
        if shell not in _NO_LOGIN:
            # Everything that runs in this name is ended before each job.
            raise Unfit("RTE_ISOLATION_USERS: %s can log in (its shell is %s); name users that only jobs use" % (word, shell))
        groups = [group for group in os.getgrouplist(found.pw_name, found.pw_gid) if group != found.pw_gid]
        entry = {"uid": found.pw_uid, "gid": found.pw_gid, "name": found.pw_name, "groups": groups}
        entry.update(known=True, home=found.pw_dir)
    if entry["uid"] in (0, os.getuid(), 65534) or 0 in (entry["gid"], *entry["groups"]):
        raise Unfit("RTE_ISOLATION_USERS: %s is root, nobody, or the user of the agent, or is in the group of root" % word)
    return entry


def _refuse_other_homes(entries, folder):
    """Ansible and ssh take the home of a user from the list of users, whatever HOME says.

    A job could not write there, and each task with `connection: local` would be UNREACHABLE. Or it could, and would leave its files to the next job.
    """
    others = [entry["name"] for entry in entries if entry["known"] and not _is_home(entry["home"], folder, entry["name"])]
    if not others:
        return
    shown = " ".join(others[:_MOST_NAMED]) + (" (and %d more)" % (len(others) - _MOST_NAMED) if len(others) > _MOST_NAMED else "")
    raise Unfit(
        "the list of users of this host (/etc/passwd) has another home for %s than their jobs get, so `connection: local` and ssh would fail: "
        "for each of them run usermod --home %s/USER/home USER" % (shown, folder)
    )


def _is_home(path, folder, name):
    return os.path.realpath(path) == os.path.realpath("%s/%s/home" % (folder, name))


def _open_way_to(folder, state):
    """Users of jobs pass through the state folder by name. They cannot list it, and what is in it stays closed."""
    os.makedirs(folder, 0o711, exist_ok=True)
    for path in (state, state + "/spool", state + "/spool/jobs", folder):
        os.chmod(path, 0o711)


def _try_user(user, asked):
    if not user.lock():
        return  # a job uses this user now, so it was tried before
    try:
        _try_rights(user)
        problems = user.clean()
        if problems:
            raise Unfit("%s cannot be made clean: %s" % (user.name, "; ".join(problems)))
        user.prepare(None)
        _try_access(user, asked)
        user.clean()
    finally:
        user.unlock()


def _try_rights(user):
    """Becoming the user, giving files away, ending processes of it."""
    said = run_as(user, lambda: None)
    if said:
        raise Unfit(_RIGHTS % said)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(writer)
            user.become()
            # One that cannot be ended ends itself when this process lets go of the pipe.
            os.read(reader, 1)
        finally:
            os._exit(1)
    os.close(reader)
    try:
        while not is_of(pid, user.uid):
            time.sleep(0.001)
        os.kill(pid, signal.SIGKILL)
    except PermissionError as error:
        raise Unfit(_RIGHTS % ("ending a process: %s" % error.strerror))
    finally:
        os.close(writer)
        os.waitpid(pid, 0)
    probe = user.path("probe")
    try:
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        os.chown(probe, user.uid, user.gid)
    except PermissionError as error:
        raise Unfit(_RIGHTS % ("giving a file away: %s" % error.strerror))
    finally:
        os.unlink(probe)


def _try_access(user, asked):
    """A job must be able to reach what it needs, and must not be able to read what is hidden from it."""

    def look():
        os.listdir(user.path("home"))
        for path in asked["read"]:
            if not os.access(path, os.R_OK | os.X_OK if os.path.isdir(path) else os.R_OK):
                raise OSError(errno.EACCES, "%s cannot be read by it; the folders above must let others pass" % path)
        for path in asked["run"]:
            if not os.access(path, os.X_OK):
                raise OSError(errno.EACCES, "%s cannot be run by it" % path)
        for path in asked["hidden"]:
            if os.access(path, os.R_OK):
                raise OSError(errno.EACCES, "%s can be read by it" % path)

    said = run_as(user, look)
    if said:
        raise Unfit("the user %s: %s" % (user.name, said))


def _private_folders(entry, asked):
    """Which common folders a job can have for itself: none without the right to mount, and none that the agent is in."""
    needed = [asked["state"], *asked["read"], *asked["run"]]
    places = [place for place in _PRIVATE if not any(_is_below(path, place) for path in needed)]
    folders = dict.fromkeys(places, JobUser(entry, asked["folder"]).folder)
    if os.path.isdir("/dev/shm"):
        folders["/dev/shm"] = None
    pid = os.fork()
    if pid == 0:
        try:
            leave_common_folders(folders)
            os._exit(0)
        except BaseException:
            os._exit(1)
    return list(folders) if os.waitpid(pid, 0)[1] == 0 else []


def _is_below(path, place):
    return (os.path.realpath(path) + "/").startswith(place + "/")


def release(job, folder):
    """Ends what is left of a job whose supervisor is gone, and removes its files. Returns sentences about what could not be."""
    try:
        with open(job + "/isolation.json") as file:
            user = JobUser(json.load(file), folder)
    except (OSError, ValueError, KeyError):
        return []  # it had no user yet
    if not user.lock():
        return []  # another job has the user now, and cleaned up before it began
    given = [job + "/work", job + "/uploads"]
    return user.clean(given)

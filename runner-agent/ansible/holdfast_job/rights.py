"""Rights of a process in the sense of Linux: capabilities, namespaces, and what a program may gain by being started."""

import ctypes
import os

_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_CAPABILITY_VERSION_3 = 0x20080522
_CLONE_NEWNS, _CLONE_NEWIPC = 0x00020000, 0x08000000
_MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18


# Loaded before a process becomes another user: that user may not be allowed to read the library.
_library = ctypes.CDLL(None, use_errno=True)


def drop_all_rights():
    """No capability is left, now and in what is started from here. Raises OSError when one is.

    An agent that is not root has its rights as capabilities, which a change of the user does not take away.
    """
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    if _library.capset(header, (ctypes.c_uint32 * 6)()) != 0:
        raise OSError(ctypes.get_errno(), "the rights of the agent could not be dropped")
    with open("/proc/thread-self/status", "rb") as file:
        status = file.read()
    for kind in (b"\nCapInh:", b"\nCapPrm:", b"\nCapEff:", b"\nCapAmb:"):
        if int(status.partition(kind)[2].split(None, 1)[0], 16) != 0:
            raise OSError("the rights of the agent are still there")


def forbid_more_rights():
    """Programs started from here gain nothing by the owner of their file: no sudo, no su."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def leave_common_folders(private):
    """Gives this process its own mounts and queues. `private`: a path → the folder to mount there, or None for memory."""
    if _library.unshare(_CLONE_NEWNS | _CLONE_NEWIPC) != 0:
        raise OSError(ctypes.get_errno(), "namespaces: " + os.strerror(ctypes.get_errno()))
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE, None)
    for place, folder in private.items():
        if folder is None:
            _mount("tmpfs", place, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=1777")
        else:
            _mount(folder, place, None, _MS_BIND, None)


def _mount(source, target, kind, flags, data):
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    if _library.mount(*words, ctypes.c_ulong(flags), None if data is None else data.encode()) != 0:
        raise OSError(ctypes.get_errno(), "mount of %s: %s" % (target, os.strerror(ctypes.get_errno())))


def _prctl(option, argument):
    if _library.prctl(option, *map(ctypes.c_ulong, (argument, 0, 0, 0))) != 0:
        raise OSError(ctypes.get_errno(), "prctl %d: %s" % (option, os.strerror(ctypes.get_errno())))

"""Starts the ansible-playbook of one job and stays with it to its end, as docs/job-folder.md says.

Run as `python3 -I -S supervisor.py <job folder>`. This file is compiled anew at every start, so it holds next to nothing;
the modules beside it are kept compiled.
"""

import os
import sys

try:
    # By the open folder: some modules are loaded late, and the state folder with this file may be moved before that.
    folder = os.open(__file__.rpartition("/")[0] or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    sys.path.insert(0, "/proc/self/fd/%d" % folder)
    from holdfast_job.start import main
except BaseException as error:
    # No more open files, a folder that cannot be read: nothing was started, and the agent tries again.
    os.write(2, ("holdfast supervisor: its code could not be read: %s, so nothing was started\n" % error).encode())
    os._exit(18)

try:
    code = main(sys.argv)
except BaseException:
    import traceback

    traceback.print_exc()
    code = 70  # another code than 1, which an interpreter gives that could not even begin

# end.json is there and nothing is buffered. So the process can end at once, without the interpreter's own shutdown.
os._exit(code)

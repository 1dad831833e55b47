"""Starts the ansible-playbook of one job and stays with it to its end, as docs/job-folder.md says.

Run as `python3 -I -S supervisor.py <job folder>`. This file is compiled anew at every start, so it holds next to nothing;
the modules beside it are kept compiled.
"""

import os
import sys

sys.path.insert(0, __file__.rpartition("/")[0] or ".")

from holdfast_job.start import main

# end.json is there and nothing is buffered: the interpreter need not be taken down in order.
os._exit(main(sys.argv))

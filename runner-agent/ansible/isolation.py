"""What the agent asks about users of jobs: `isolation.py check` and `isolation.py release`, with JSON in and JSON out.

Run as `python3 -I -S isolation.py <what>`.
"""

import sys

sys.path.insert(0, __file__.rpartition("/")[0] or ".")

from holdfast_job.isolation_check import main

sys.exit(main(sys.argv))

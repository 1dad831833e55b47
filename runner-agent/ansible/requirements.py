"""Installs what a playbook folder requires (roles, collections) and then becomes ansible-playbook.

Run by the supervisor in the place of ansible-playbook: `requirements.py <orders as JSON> <ansible-playbook> <its arguments>`.
So it is a process of the job like any other: an abort ends it, its output is the job's, and it goes on when the agent ends.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from holdfast_job.requirements import main

main(sys.argv)

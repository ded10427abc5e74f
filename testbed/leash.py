"""``python leash.py <parent's pid> <command...>``: become the command, and die with the parent.

A finally-clause cannot run when the parent is killed with SIGKILL; the kernel's parent-death signal
survives exec and needs no help from anybody. Linux only, as are Dynamo's wheels.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Replace this process by the command in ``sys.argv``."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # The parent may have died before the call above, in which case no signal will come.
    if os.getppid() == parent:
        os.execv(command[0], command)


if __name__ == "__main__":
    main()

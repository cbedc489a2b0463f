"""`python -m quiclens_command_line`: the command where it is not installed in the PATH."""

import sys

from quiclens_command_line.entry import main

if __name__ == "__main__":
    sys.exit(main())

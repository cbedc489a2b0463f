"""`python -m quiclens_lab`."""

import sys

from quiclens_lab.command_line import main

if __name__ == "__main__":
    sys.exit(main())

"""``python -m jaxlint``."""

import sys

# What lies in the working directory is what is to be checked: nothing of it may be imported in place of a library.
if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]

from jaxlint.cli import main

if __name__ == "__main__":
    sys.exit(main())

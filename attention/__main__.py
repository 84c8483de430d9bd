"""`python -m attention`: see `attention.cli`."""

import sys

from attention.cli import main

if __name__ == "__main__":
    sys.exit(main())

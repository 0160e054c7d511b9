"""python -m regard.cli, as torchrun wants it."""

from __future__ import annotations

import sys

from regard.cli import main

if __name__ == "__main__":
    sys.exit(main())

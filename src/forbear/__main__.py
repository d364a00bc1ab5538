"""
`python -m forbear`: the same as `forbear`.

Law: it calls `main`, and nothing else stands here.
"""

from __future__ import annotations

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())

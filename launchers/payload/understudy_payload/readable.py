"""Model output as text that every JSON reader, database and page can hold."""

from __future__ import annotations

import re

# C0 controls but tab and newline, and surrogates: Python strings never pair them, so each one is alone.
UNREADABLE = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff]")


def readable(text: str) -> str:
    """The text without those, stripped. U+FFFD, the mark of bytes that are no UTF-8, stays: it is what was said."""
    return UNREADABLE.sub("", text).strip()

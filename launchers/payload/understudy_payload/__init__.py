"""Understudy's payload: the code that runs on the machine that trains. CONTRACT.md describes the seam."""

__version__ = "0.1.0"

"""Lazy arrays whose operators become one plan, fused by cost and compiled to machine code."""

from ._api import *  # noqa: F403
from ._native import VERSION as __version__  # noqa: F401

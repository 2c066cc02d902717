"""How many examples tests draw: ``--hypothesis-profile=thorough`` draws ten times as many."""

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

_QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
_COMMON = {"deadline": None, "suppress_health_check": _QUIET, "database": None}
settings.register_profile("ordinary", max_examples=150, **_COMMON)
settings.register_profile("thorough", max_examples=1500, **_COMMON)
settings.load_profile("ordinary")


def pytest_configure(config):
    # NumPy warns of what cells are meant to be here.
    config.addinivalue_line("filterwarnings", "ignore::RuntimeWarning")

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("fixed")

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it, and tests send it


@pytest.fixture(scope="session")
def data_folder():
    folder = os.environ.get("DYADS_DATA")
    if folder is None:
        pytest.skip("DYADS_DATA does not name the folder of the data sets")
    return Path(folder)

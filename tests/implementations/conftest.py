"""Every implementation, and layers with every part."""

import pytest

from tests.implementations.contract import CONFIGS, NAMES


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture(params=["every bias", "9 heads on 3 kv heads"])
def full_config(request):
    return CONFIGS[request.param]

"""Every implementation, and the layers it has to compute."""

import pytest

from tests.implementations.contract import CONFIGS, NAMES


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture(params=CONFIGS.values(), ids=CONFIGS)
def config(request):
    return request.param


@pytest.fixture(params=["every bias", "9 heads on 3 kv heads"])
def full_config(request):
    """A config with every part, where the sizes make no difference."""
    return CONFIGS[request.param]

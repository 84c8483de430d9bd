"""What the tests of the page share: no model of the machine at hand is listed."""

import pytest

from attention import known_models
from components import model_choice, resources

LIMIT_S = 60.0


@pytest.fixture(autouse=True)
def models_folder(tmp_path, monkeypatch):
    """The folder whose models the page lists; empty, and nothing is in the hub's cache.

    A model is waited for until it is open: AppTest does not run a page again by itself.
    """
    folder = tmp_path / "models"
    monkeypatch.setattr(known_models, "_cached", lambda: iter(()))
    monkeypatch.setattr(resources, "models", lambda: known_models.find_models(folder))
    monkeypatch.setattr(model_choice, "PATIENCE_S", LIMIT_S)
    return folder

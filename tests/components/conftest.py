"""What the tests of the page share: no model of the machine at hand is listed."""

import threading

import pytest

from attention import known_models
from components import measuring, model_choice, resources
from components.measuring import Measuring

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


@pytest.fixture(autouse=True)
def short_measurements(monkeypatch):
    """What the strip times waits for no browser, and ends with the test.

    One round: AppTest runs the whole page to ask how far it is, and what is timed then is lost.
    """
    made, begin = [], Measuring.__init__

    def begin_and_note(self, *given, **named):
        begin(self, *given, **named)
        made.append(self)

    monkeypatch.setattr(Measuring, "__init__", begin_and_note)
    monkeypatch.setattr(measuring, "ROUNDS", 1)
    monkeypatch.setattr(measuring, "CALM_S", 0.0)
    yield
    for one in made:
        one.end()
    for thread in threading.enumerate():
        if thread.name == measuring.THREAD:
            thread.join(LIMIT_S)

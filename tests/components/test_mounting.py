"""What components get and send."""

from components.mounting import event


def test_component_that_has_gone_has_sent_nothing():
    assert event("never_mounted", "head") is None

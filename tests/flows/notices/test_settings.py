"""Channels are secrets: settings name the variables that hold them."""

import pytest
from pydantic import ValidationError

from flows.config import Settings
from flows.notices.settings import Kind, Notifications, mail_url, webhook_url
from taskdata.errors import Misuse

SECRET = "T0KEN-b7f3a1"


def test_the_variable_holds_the_address(monkeypatch):
    monkeypatch.setenv("HOOK", f"https://hooks.example/{SECRET}")
    found = webhook_url(Notifications(webhook_url_from="HOOK"))
    assert found.get_secret_value().endswith(SECRET)
    assert SECRET not in repr(found)
    assert webhook_url(Notifications()) is None


@pytest.mark.parametrize("value", ["", f"ftp://hooks.example/{SECRET}", f"https:{SECRET}", SECRET])
def test_what_is_no_address_is_refused_without_saying_it(monkeypatch, value):
    monkeypatch.setenv("HOOK", value)
    with pytest.raises(Misuse, match="webhook_url_from: the variable HOOK") as caught:
        webhook_url(Notifications(webhook_url_from="HOOK"))
    assert SECRET not in str(caught.value)


def test_mail_needs_a_mail_server(monkeypatch):
    monkeypatch.setenv("MAIL", "https://example.org")
    with pytest.raises(Misuse, match="mailto:// or mailtos://"):
        mail_url(Notifications(mail_url_from="MAIL"))


def test_notices_are_about_everything_unless_the_settings_choose(home):
    assert set(Settings().notifications.about) == set(Kind)
    assert Settings(notifications={"about": ["review"]}).notifications.about == (Kind.REVIEW,)
    with pytest.raises(ValidationError):
        Settings(notifications={"webhook_url": f"https://hooks.example/{SECRET}"})

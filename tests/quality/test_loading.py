"""Libraries that Great Expectations seldom uses are imported on first use; others at once."""

import sys

from quality.loading import _deferred


def test_a_deferred_module_is_imported_when_something_of_it_is_used(tmp_path, monkeypatch):
    (tmp_path / "seldom_used.py").write_text("import sys\nsys.seldom_used = 1\nVALUE = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "seldom_used", 0, raising=False)
    with _deferred(("seldom_used",)):
        import seldom_used as deferred
    assert "seldom_used" not in sys.modules
    assert (sys.seldom_used, deferred.VALUE, sys.seldom_used) == (0, 3, 1)
    import seldom_used

    assert (seldom_used.VALUE, sys.modules["seldom_used"]) == (3, seldom_used)


def test_who_uses_it_within_the_block_gets_the_module_itself(tmp_path, monkeypatch):
    (tmp_path / "used_at_once.py").write_text("VALUE = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    with _deferred(("used_at_once",)):
        from used_at_once import VALUE

        assert VALUE == sys.modules["used_at_once"].__dict__["VALUE"] == 3
    assert "used_at_once" in sys.modules


def test_a_module_that_is_there_stays(tmp_path):
    before = sys.modules["json"]
    with _deferred(("json",)):
        assert sys.modules["json"] is before

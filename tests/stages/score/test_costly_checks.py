"""Patterns and schemas that would take for ever, or fetch what nobody may see."""

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from stages.score.checking.exchange import CheckLimits
from stages.score.checking.leaves import check_leaves
from stages.score.evidence import TrialEvidence
from stages.score.library import validate_check
from taskdata.errors import BadTaskData
from taskdata.schema.checkpoint import Check, Checkpoint
from taskdata.schema.views import CsvView, JsonView, Table, TextView

TEXT = {"notes.md": TextView(text="a" * 33 + "!")}
CELLS = {"data.csv": CsvView(table=Table(rows=(("id",), *((("a" * 33 + "!"),),) * 50)))}


@pytest.mark.parametrize(
    ("name", "deliverable", "args", "views"),
    [
        ("text_matches", "notes.md", {"pattern": "^(a+)+$"}, TEXT),
        ("text_matches", "notes.md", {"pattern": "(a|aa|a?)+$"}, TEXT),
        ("text_matches", "notes.md", {"pattern": "(((a?){300}){300}){300}x"}, TEXT),
        ("csv_column_matches", "data.csv", {"column": "id", "pattern": "(a+)+"}, CELLS),
        (
            "json_schema",
            "out.json",
            {"schema": {"uniqueItems": True}},
            {"out.json": JsonView(value=[[{"n": n}] for n in range(20_000)])},
        ),
        (
            "json_schema",
            "out.json",
            {"schema": {"items": {"pattern": "^(a+)+$"}}},
            {"out.json": JsonView(value=["a" * 33 + "!"] * 9)},
        ),
        (
            "json_schema",
            "out.json",
            {
                "schema": {
                    "$ref": "#/$defs/n0",
                    "$defs": {
                        f"n{n}": {"allOf": [{"$ref": f"#/$defs/n{n + 1}"}] * 2} for n in range(30)
                    }
                    | {"n30": {}},
                }
            },
            {"out.json": JsonView(value={})},
        ),
    ],
)
def test_what_would_take_for_ever_is_stopped_and_the_rest_is_scored(name, deliverable, args, views):
    hanging = Check(name=name, deliverable=deliverable, args=args)
    validate_check(hanging)
    sound = Check(name="answer_number", args={"expected": 42})
    leaves = [
        Checkpoint(id=f"leaf-{n}", requirement="It is right.", verifier=check)
        for n, check in enumerate((sound, hanging, sound))
    ]

    evidence = TrialEvidence(views, final_answer="42")
    scores = asyncio.run(check_leaves(leaves, evidence, CheckLimits(check_seconds=0.3)))
    assert [scores[leaf.id].score for leaf in leaves] == [10, 0, 10]
    assert "0.3 s of CPU time" in scores["leaf-1"].reason


def test_a_schema_that_refers_to_itself_for_ever_earns_nothing(run):
    assert run("json_schema", "out.json", {"schema": {"$ref": "#"}}).score == 0


@pytest.mark.parametrize("pattern", ["((a{1000}){1000}){1000}", "(" * 249 + ")" * 249, "[^\x01-z]"])
def test_a_pattern_is_cheap_to_validate(pattern):
    validate_check(Check(name="text_matches", deliverable="a.md", args={"pattern": pattern}))


@pytest.mark.parametrize("pattern", ["a?" * 1001, "(?i)" + "[^a]" * 51])
def test_a_pattern_that_is_costly_to_validate_is_refused(run, pattern):
    with pytest.raises(BadTaskData, match="a pattern has at most"):
        run("text_matches", "notes.md", {"pattern": pattern})


@pytest.fixture
def secret_server():
    """Serve a schema nobody may see; yield its address and the paths that were asked for."""
    asked = []

    class Secret(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"const": "the secret"}')

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Secret) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/schema", asked
        server.shutdown()


@pytest.mark.parametrize(
    "around",
    [
        lambda ref: ref,
        lambda ref: {"properties": {"total": {"items": ref}}},
        lambda ref: {"$defs": {"inner": {"$id": "http://127.0.0.1/", **ref}}},
        lambda ref: {"$schema": "http://json-schema.org/draft-07/schema#", **ref},
        lambda ref: {"allOf": [{"$schema": "https://example.org/none", **ref}]},
    ],
)
def test_a_schema_that_refers_elsewhere_is_refused_and_fetches_nothing(
    secret_server, tmp_path, around
):
    address, asked = secret_server
    (tmp_path / "secret.json").write_text('{"const": "the secret"}')
    for target in (address, (tmp_path / "secret.json").as_uri(), "other.json"):
        schema = around({"$ref": target})
        with pytest.raises(BadTaskData, match=r"\$ref .* is not inside the schema"):
            validate_check(
                Check(name="json_schema", deliverable="out.json", args={"schema": schema})
            )
    assert asked == []


def test_a_reference_that_only_scoring_meets_fetches_nothing(run, secret_server):
    address, asked = secret_server
    # No keyword of the dialect leads to the unknown one, so nobody can know that it is a schema.
    schema = {"x-notes": {"$ref": address}, "$ref": "#/x-notes"}
    leaf = run("json_schema", "out.json", {"schema": schema})
    assert leaf.score == 0
    assert "secret" not in leaf.reason
    assert asked == []


@pytest.mark.parametrize(
    "schema",
    [
        {"required": [1, "a"] * 50_000},
        {"description": "x" * 100_000},
        {"$defs": {str(n): {"enum": list(range(400))} for n in range(400)}},
        json.loads('{"not":' * 100 + "{}" + "}" * 100),
    ],
)
def test_a_schema_that_would_take_long_to_validate_is_refused(schema):
    with pytest.raises(BadTaskData, match="the schema"):
        validate_check(Check(name="json_schema", deliverable="out.json", args={"schema": schema}))

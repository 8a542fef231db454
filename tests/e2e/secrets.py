"""Keys as a night meets them: providers that hand them back, and a search in all that is left."""

import base64
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from tests.wire_server import Behaviour, Seen, WireServer

KEYS = {
    "compatible": "sk-canary+9d51c0/b84e26a1=one",
    "openai": "sk-canary+7f3a9d/51c0b84e=two",
    "anthropic": "sk-canary+26a1b7/f3a1c0d9=three",
}
"""With characters that are written in another way in base64's, JSON's and an address's company."""

TASKS = ("calm", "quiet", "retried", "refused", "wrong", "elsewhere")
"""What the provider does in each of them."""

TASK = """\
tier: atomic
category: data_analysis
capabilities: [logic]
title: Add two numbers, {name}
query: "What do 2 and 3 make? This is case={name}."
tools: [python_execute, finish]
answer: {{kind: objective, whitelist: [["5"]]}}
checkpoints:
  id: root
  requirement: The answer is right.
  children:
    - id: sum
      requirement: It says 5.
      verifier: {{kind: check, name: answer_contains, args: {{all: [["5"]]}}}}
    - id: words
      requirement: It says so in plain words.
      verifier: {{kind: judge, rubric: 10 if a child understands it.}}
"""

LOOK = """\
import glob, os
found = [f"{name}={value}" for name, value in os.environ.items()]
for path in sorted(glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline")):
    try:
        found.append(path + " " + open(path, errors="replace").read().replace("\\0", " "))
    except OSError as error:
        found.append(f"{path} {error}")
found.append(open("/proc/self/mountinfo").read())
"""
"""Python that looks for a key wherever a program may look."""

PROGRAM = (
    LOOK
    + """
import json, urllib.request
address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"],
           "content-type": "application/json"}
task = open("TASK.md").read()
for stream in (False, False, True):
    asked = {"model": "any", "stream": stream, "messages": [{"role": "user", "content": task}]}
    request = urllib.request.Request(address, json.dumps(asked).encode(), headers)
    try:
        with urllib.request.urlopen(request) as answered:
            found += [str(answered.headers), answered.read().decode()]
    except urllib.error.HTTPError as error:
        found += [str(error), str(error.headers), error.read().decode()]
    print(found[-1])
open("output/found.txt", "w").write("\\n".join(found))
open("output/final.txt", "w").write("It is 5.")
"""
)


def model(name: str) -> str:
    return f"{name}/wire-{name}"


class Echo:
    """A server of all three providers that hands back the key whenever it can."""

    def __init__(self) -> None:
        self.received: set[str] = set()
        """Providers that were called with their key."""
        self.strangers: list[Seen] = []
        """Requests without the right key."""
        self.asked: Counter[tuple[str, str]] = Counter()
        """Calls by provider and task."""

    def respond(self, seen: Seen) -> Behaviour:
        provider = str(seen.body["model"]).removeprefix("wire-")
        key = KEYS[provider]
        if not {key, f"Bearer {key}"} & set(seen.headers.values()):
            self.strangers.append(seen)
        self.received.add(provider)
        found = re.search(r"case=(\w+)", json.dumps(seen.body))
        case = found.group(1) if found else "quiet"
        self.asked[provider, case] += 1
        said = f"the key {key} of {json.dumps({'authorization': f'Bearer {key}'})}"
        if case == "refused" and provider != "anthropic":
            return WireServer.fails(401, said, code=key, kind=key)
        if case == "wrong" and provider != "anthropic":
            return WireServer.fails(400, said, code=key, kind=key)
        if case == "elsewhere" and provider != "anthropic":
            place = {"location": f"http://127.0.0.1:9/{quote(key)}?key={key}"}
            return WireServer.sends(b"", status=307, headers=place)
        if case == "retried" and self.asked[provider, case] < 5:
            return self._trouble(self.asked[provider, case], key, said)
        return self._answer(seen, key)

    def _trouble(self, number: int, key: str, said: str) -> Behaviour:
        escaped = key.replace("/", "\\/").encode()
        return (
            WireServer.fails(500, said, code=key, retry_after=0.01),
            WireServer.fails(429, said, kind=key, retry_after=0.01),
            WireServer.sends(key.encode(), content_type=f"text/{quote(key, safe='')}"),
            WireServer.sends(b'{"error": {"message": "no ' + escaped + b'"}}'),
        )[number - 1]

    def _answer(self, seen: Seen, key: str) -> Behaviour:
        headers = {"x-echo": f"Bearer {key}", "x-request-id": key, "set-cookie": f"key={key}"}
        if "anthropic" in seen.dialect:
            text = json.dumps({"score": 9, "evidence": f"A child knows {key}."})
        elif seen.body["model"] == "wire-compatible" and len(seen.body["messages"]) < 3:
            code = json.dumps({"code": LOOK + "print(found)"})
            text = f"Thought: {key}\nAction: python_execute\nAction Input: {code}"
        else:
            text = f"Final Answer: It is 5, and the key {key}."
        if seen.body.get("stream"):
            return WireServer.sends(_streamed(text), "text/event-stream", headers=headers)

        async def behave(seen: Seen, request):
            response = await WireServer.says(text, model=key)(seen, request)
            response.headers.update(headers)
            return response

        return behave


def _streamed(text: str) -> bytes:
    def event(delta: dict[str, str], reason: str | None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
        return f"data: {json.dumps(chunk | {'choices': [choice]})}\n\n"

    events = event({"role": "assistant", "content": text}, None) + event({}, "stop")
    return (events + "data: [DONE]\n\n").encode()


def login_of(home: Path) -> tuple[str, str]:
    """User and password of a home's own Prefect server."""
    user, _, password = (home / "login").read_text().strip().partition(":")
    return user, password


def written_as(key: str) -> set[bytes]:
    """Every way in which the key may have been written."""
    raw = key.encode()
    forms = {raw, json.dumps(key)[1:-1].encode(), raw.replace(b"/", b"\\/")}
    forms |= {quote(key, safe=safe).encode() for safe in ("", "/", "+", "/+=")}
    # In the middle of a longer text its base64 begins at any of three places.
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + raw)
        forms.add(coded[(before * 8 + 5) // 6 + 1 : len(raw) * 4 // 3 - 2])
    return forms


def keys_in(content: bytes) -> list[str]:
    """Whose keys are in the content, or in what is packed in it."""
    return [provider for provider, key in KEYS.items() if is_in(content, key)]


def is_in(content: bytes, secret: str) -> bool:
    """Whether the secret is in the content, or in what is packed in it."""
    parts, forms = list(_unpacked(content)), written_as(secret)
    return any(form in part for part in parts for form in forms)


_CODED = re.compile(rb"[A-Za-z0-9+/]{64,}={0,2}")
_GZIP_OR_ZLIB = 47


def _unpacked(content: bytes) -> Iterator[bytes]:
    yield content
    for packed in [content, *(_decoded(found[0]) for found in _CODED.finditer(content))]:
        with suppress(zlib.error):
            yield zlib.decompressobj(_GZIP_OR_ZLIB).decompress(packed)


def _decoded(text: bytes) -> bytes:
    text = text.rstrip(b"=")
    text = text[:-1] if len(text) % 4 == 1 else text
    return base64.b64decode(text + b"=" * (-len(text) % 4))


def write_bank(folder: Path) -> None:
    for name in TASKS:
        (folder / name).mkdir(parents=True)
        (folder / name / "task.yaml").write_text(TASK.format(name=name))

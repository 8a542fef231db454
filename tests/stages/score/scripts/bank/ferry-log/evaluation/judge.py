"""Scores the answer, and the calls in the transcript, in one run."""

import json
from pathlib import Path

INPUT = Path("/workspace/input")

answer = (INPUT / "answer.txt").read_text().strip()
transcript = json.loads((INPUT / "transcript.json").read_text()) or {"events": []}
read = any(event.get("call", {}).get("tool") == "read_file" for event in transcript["events"])
leaves = {
    "minutes": {"score": float(answer in ("45", "45 minutes.")), "reason": f"answered {answer!r}"},
    "log_was_read": {"score": float(read)},
}
Path("/workspace/output/result.json").write_text(json.dumps({"leaves": leaves}))

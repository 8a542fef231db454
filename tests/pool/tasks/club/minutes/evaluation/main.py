"""Are all points of the meeting in the minutes?"""

import os
import sys

if __name__ == "__main__":
    task = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with open(os.path.join(task, "files", "points.txt")) as file:
        points = file.read().split()
    path = os.path.join(sys.argv[sys.argv.index("--agent_workspace") + 1], "minutes.md")
    text = open(path).read().lower() if os.path.isfile(path) else ""
    missing = [point for point in points if f"# {point}" not in text]
    print(f"missing: {missing}")
    sys.exit(1 if missing else 0)

import sys
from pathlib import Path

answer = Path("highest.txt")
found = answer.read_text().strip() if answer.is_file() else None
print(f"highest.txt: {found!r}")
sys.exit(found != "Old Lock")

"""Is every guest on the list once?"""

import argparse
import json
import os
import sys

from utils.tables.reading import rows


def main():
    parser = argparse.ArgumentParser()
    for name in ("agent_workspace", "groundtruth_workspace", "res_log_file", "launch_time"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()
    wanted = rows(os.path.join(args.groundtruth_workspace, "clean.csv"))
    path = os.path.join(args.agent_workspace, "clean.csv")
    found = rows(path) if os.path.isfile(path) else None
    with open(args.res_log_file, "w", encoding="utf-8") as log:
        json.dump({"passed": found == wanted}, log)
    if found != wanted:
        print(f"clean.csv: expected {wanted}, found {found}")
        sys.exit(1)
    print("clean.csv is right")


if __name__ == "__main__":
    main()

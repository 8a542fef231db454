"""Is the number of chairs right?"""

import sys

if __name__ == "__main__":
    folder = sys.argv[sys.argv.index("--agent_workspace") + 1]
    try:
        from club_inventory import counted

        passed = counted(folder) == 2
    except Exception as error:
        print(f"[FAIL] chairs: {error}")
        passed = False
    sys.exit(0 if passed else 1)

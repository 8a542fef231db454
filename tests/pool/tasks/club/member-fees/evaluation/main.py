"""Do the fees agree with the ledger?"""

import os
import sys
from argparse import ArgumentParser
from pathlib import Path


def sums():
    """Return what each member has paid."""
    import psycopg2

    with (
        psycopg2.connect(
            host=os.environ.get("PGHOST", "localhost"),
            port=5432,
            dbname="toolathlon_gym",
            user="eigent",
            password="camel",
        ) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT member, sum(cents) FROM ledger.entries GROUP BY member")
        return dict(cursor.fetchall())


if __name__ == "__main__":
    parser = ArgumentParser()
    parser.add_argument("--agent_workspace")
    args, _ = parser.parse_known_args()
    try:
        paid = sums()
        lines = (Path(args.agent_workspace) / "fees.txt").read_text().splitlines()
        passed = sorted(lines) == sorted(f"{member}: {cents}" for member, cents in paid.items())
    except Exception as error:
        print(f"[FAIL] fees: {error}")
        passed = False
    sys.exit(0 if passed else 1)

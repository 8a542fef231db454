"""Add the payment of the day to the ledger."""

import os

import psycopg2

if __name__ == "__main__":
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
        cursor.execute("INSERT INTO ledger.entries VALUES (4, 'Bo', 0)")

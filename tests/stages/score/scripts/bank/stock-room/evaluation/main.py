import psycopg

with psycopg.connect() as connection:
    left = connection.execute("SELECT sku, left_tins FROM stock ORDER BY sku").fetchall()
    sold = connection.execute("SELECT sku, sum(tins) FROM sales GROUP BY sku").fetchall()
assert left == [("BLACK", 30), ("GREEN", 8)], f"stock holds {left}"
assert sold == [("GREEN", 12)], f"sales holds {sold}"

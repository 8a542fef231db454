CREATE SCHEMA ledger;
CREATE TABLE ledger.entries (id integer PRIMARY KEY, member text, cents integer);
INSERT INTO ledger.entries VALUES (1, 'Ada', 1250), (2, 'Bo', 900), (3, 'Ada', 300);

UPDATE instruments SET state = 'ready' WHERE number IN (4, 12, 131);
UPDATE instruments SET state = 'repair' WHERE number IN (9, 117);
UPDATE instruments SET state = 'retired' WHERE number IN (20, 123);

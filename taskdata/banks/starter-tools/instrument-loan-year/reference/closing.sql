INSERT INTO fees (loan, days_late, amount)
SELECT loan, days_late, amount
FROM (
    SELECT l.loan,
           least(coalesce(l.returned, DATE '2026-06-30'), DATE '2026-06-30') - l.due AS days_late,
           least((least(coalesce(l.returned, DATE '2026-06-30'), DATE '2026-06-30') - l.due - 7) * 0.80, 40.00)
               * CASE WHEN m.born + INTERVAL '18 years' > l.due THEN 0.5 ELSE 1 END
               * CASE WHEN m.sponsor THEN 0 ELSE 1 END AS amount
    FROM loans l JOIN members m USING (member)
) counted
WHERE days_late > 7 AND amount > 0;
UPDATE instruments SET state = 'ready' WHERE number IN (4, 12, 131);
UPDATE instruments SET state = 'repair' WHERE number IN (9, 117);
UPDATE instruments SET state = 'retired' WHERE number IN (20, 123);

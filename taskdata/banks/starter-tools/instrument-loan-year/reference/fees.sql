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

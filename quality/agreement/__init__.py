"""Whether a judge agrees with people, from scores that both gave to the same leaves."""

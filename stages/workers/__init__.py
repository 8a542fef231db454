"""What execute and score share for their workers: backlog, slots, deadlines, circuit breaker."""

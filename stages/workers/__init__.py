"""What the workers of execute and score share: backlog, slots, deadlines, circuit breaker."""

"""Tables about plans: how correct they are, which errors they have, what disturbs them (APB)."""

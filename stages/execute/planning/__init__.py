"""Plans that an agent's model makes before its harness begins, for any harness with a model."""

"""Commands that keep an installation small and safe."""

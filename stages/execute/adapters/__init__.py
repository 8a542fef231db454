"""Agents built with other SDKs, which use our tools and a metered model."""

"""Agents of other people's SDKs, over our tools and a metered model."""

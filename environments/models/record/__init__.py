"""The record of model calls: stored before anybody sees a reply, and replayed from the store."""

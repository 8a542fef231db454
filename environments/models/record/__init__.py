"""The record of model calls: stored before a reply is used, and replayed from the store."""

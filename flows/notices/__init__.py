"""Notices: what people are told of an unattended installation, and by which channels."""

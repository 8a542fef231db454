"""Tools that cut videos, write on them, read what is written in them and find what moves."""

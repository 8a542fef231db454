"""Tools that cut videos, write on them, read their text and detect moving objects."""

"""The details of one trial: cut to size, free of markup, packed into the page."""

"""Tools that read tables, documents and presentations."""

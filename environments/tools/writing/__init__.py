"""Tools that write tables, documents, presentations and pages."""

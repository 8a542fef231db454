"""Results of systems that ran elsewhere, taken in as trials of harness `import`."""

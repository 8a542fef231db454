"""Results of systems that ran elsewhere, imported as trials of harness `import`."""

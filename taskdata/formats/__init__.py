"""Banks in files: readers that stream and drop nothing, writers from which all comes back."""

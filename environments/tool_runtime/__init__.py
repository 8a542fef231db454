"""What runs the tools: the catalogue, the toolbox of a trial, the worker in the sandbox."""

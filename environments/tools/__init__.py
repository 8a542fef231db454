"""What agents can do: the tool catalogue, the toolbox of a trial, the worker in the sandbox."""

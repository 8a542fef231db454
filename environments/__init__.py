"""Where agents act: sandboxes, tools, model clients, renderers."""

"""Files as the model sees them: pages, frames and pictures, drawn in the sandbox."""

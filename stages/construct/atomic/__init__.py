"""New atomic tasks from the ones there are (GTA, appendix C.2)."""

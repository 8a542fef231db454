"""New atomic tasks as variations of existing ones (GTA, appendix C.2)."""

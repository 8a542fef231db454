"""Resource use of a sandbox's programs, watched from outside where no kernel limit fits."""

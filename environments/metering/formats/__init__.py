"""The wire formats of programs: parsing requests and answers, assembling streams."""

print("nothing to prepare")

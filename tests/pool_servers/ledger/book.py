def enter(workspace, text):
    (workspace / "entry.txt").write_text(text)
    with open(__file__, "a") as own:
        own.write(f"# {text}\n")

def enter(workspace, text):
    (workspace / "entry.txt").write_text(text)

def test_files_are_listed_with_sizes(run, refused, workspace):
    (workspace / "input/sub").mkdir()
    (workspace / "input/sub/b.txt").write_text("12345")
    (workspace / "input/a.txt").write_text("1")
    (workspace / "output/link").symlink_to("nowhere")
    assert run("list_files").text.splitlines() == [
        "input/a.txt (1 bytes)",
        "input/sub/b.txt (5 bytes)",
        "output/link (7 bytes)",
    ]
    assert run("list_files", path="input/sub").text == "input/sub/b.txt (5 bytes)"
    assert run("list_files", path="/workspace/output").text == "output/link (7 bytes)"
    assert "There is no folder" in refused("list_files", path="nowhere")


def test_a_long_list_ends_with_a_hint(run, workspace):
    for number in range(1005):
        (workspace / "output" / f"{number:04}").touch()
    lines = run("list_files").text.splitlines()
    assert len(lines) == 1001
    assert "ask for a folder below" in lines[-1]


def test_a_short_file_is_shown_as_it_is(run, workspace):
    (workspace / "input/a.md").write_bytes(b"\xef\xbb\xbf# T\xc3\xbc\n")
    assert run("read_file", path="input/a.md").text == "# Tü\n"


def test_a_long_file_is_read_piece_by_piece(run, refused, workspace):
    (workspace / "input/a.txt").write_text("ä" * 10_000)
    first = run("read_file", path="input/a.txt").text
    assert first == "ä" * 4000 + "\n[characters 0 to 4000 of 10000; go on with offset=4000]"
    last = run("read_file", path="input/a.txt", offset=9_990, limit=500).text
    assert last == "ä" * 10 + "\n[characters 9990 to 10000 of 10000; that is the end]"
    assert "10000 characters" in refused("read_file", path="input/a.txt", offset=10_000)
    (workspace / "input/b.txt").write_text("b" * 300_000)
    longest = run("read_file", path="input/b.txt", limit=10**9).text
    assert len(longest) <= 100_000
    assert longest.endswith("go on with offset=99800]")


def test_files_of_another_kind_name_their_reader(refused, workspace):
    (workspace / "input/a.xlsx").write_bytes(b"PK")
    (workspace / "input/a.bin").write_bytes(b"a\0b")
    assert "read it with ReadXLSX" in refused("read_file", path="input/a.xlsx")
    assert refused("read_file", path="input/a.bin") == "input/a.bin is not a text file."


def test_text_is_written_and_replaced(written, workspace):
    written("write_file", path="output/a.txt", content="long text")
    result = written("write_file", path="output/a.txt", content="ü\n")
    assert result.text == "Wrote output/a.txt: 3 bytes."
    assert (workspace / "output/a.txt").read_bytes() == "ü\n".encode()


def test_broken_json_is_written_with_a_note(written):
    broken = written("write_file", path="output/a.json", content="{'a': 1}")
    assert "Note: this is not valid JSON" in broken.text
    deep = written("write_file", path="output/b.json", content="[" * 100_000)
    assert "Note" in deep.text
    assert "Note" not in written("write_file", path="output/c.json", content='{"a": 1}').text


def test_binary_formats_are_left_to_their_tools(refused):
    text = refused("write_file", path="output/a.xlsx", content="x")
    assert text == "write_file writes text; for .xlsx files use XlsxFileGenerator."

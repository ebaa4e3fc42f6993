"""Nothing public is without an entry in the reference, and every page has a place in the manual."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import click
import pytest
from docs.site import assistant, columns, commands, findings, library, navigation, pages, tables

import tbq
from tbq.cli import COMMANDS
from tbq.cli.app import app
from tbq.diagnosis import codes
from tbq.query import scanning, sql
from tbq.schema import KINDS, schema
from tbq.server.http.routes import ROUTES

ROOT = Path(__file__).parents[2]
SOURCE = sorted((ROOT / "src" / "tbq").rglob("*.py"))


@pytest.fixture(scope="module")
def reference() -> dict[str, str]:
    return {name: text for part in (commands, library, tables, findings) for name, text in part.pages()}


def test_every_option(reference: dict[str, str]) -> None:
    for name in COMMANDS:
        text = reference[f"reference/commands/{name}.md"]
        command = app.get_command(click.Context(app), name)
        assert command is not None
        for param in command.params:
            for option in param.opts if isinstance(param, click.Option) and not param.hidden else ():
                assert re.search(rf"`[^`\n]*{re.escape(option)}\b", text), f"{name} {option}"
        examples = [line.strip() for line in (command.epilog or "").splitlines() if line.startswith("  tbq ")]
        assert examples and all(example in text for example in examples)


def test_every_public_name(reference: dict[str, str]) -> None:
    headings = {
        line.lstrip("# ") for text in reference.values() for line in text.splitlines() if line[:1] == "#"
    }
    documented = {each.value for each in library.public()}
    for name in tbq.__all__:
        value = getattr(tbq, name)
        names = (
            (getattr(value, each) for each in getattr(value, "__all__", ()))
            if inspect.ismodule(value)
            else [value]
        )
        assert name == "__version__" or all(each in documented for each in names), name
    for each in library.public():
        if not inspect.isclass(each.value):
            assert each.name in headings
            continue
        assert each.name in headings
        for name, member in inspect.getmembers(each.value):
            ours = getattr(getattr(member, "fget", member), "__module__", None) or ""
            if name.startswith("_") or not ours.startswith("tbq.") or inspect.isclass(member):
                continue
            owners = [
                base.__name__
                for base in (*each.value.__mro__, library.parent(each.value))
                if hasattr(base, name)
            ]
            assert any(f"{owner}.{name}" in headings for owner in [each.value.__name__, *owners]), (
                f"{each.name}.{name}"
            )


#: Values of classes that are for Python, Keras and Arrow.
OF_BASES = {"args", "async_safe", "partition_expression", "schema"}


def test_every_public_value_of_a_class(reference: dict[str, str]) -> None:
    for each in library.public():
        for name in dir(each.value) if inspect.isclass(each.value) else ():
            value = inspect.getattr_static(each.value, name)
            called = inspect.isroutine(value) or isinstance(value, (staticmethod, *library.PROPERTIES))
            if name[0] == "_" or called or name in OF_BASES:
                continue
            owners = [base for base in each.value.__mro__ if name in library.attributes(base)]
            assert owners, f"{each.name}.{name} has no annotation, which the reference lists"
            pages = [text for path, text in reference.items() if path.endswith(f".{owners[0].__name__}.md")]
            assert any(f"\n- `{name}`: `" in text for text in pages), f"{each.name}.{name}"


def test_every_public_method_is_explained() -> None:
    overridden = {"get_fragments", "sort_by", "join", "join_asof", "replace_schema"}  # of Arrow's datasets
    silent = [
        f"{each.name}.{name}"
        for each in library.public()
        if inspect.isclass(each.value)
        for name, member in library.members(each.value)
        if not getattr(member, "__func__", member).__doc__ and name not in overridden
    ]
    assert silent == []


#: Compiled, or called by Keras and Arrow only.
NOT_FOR_PEOPLE = {
    "tbq.release_memory",
    *(
        f"tbq.results.MetricsTable.{name}"
        for name in ("set_params", "set_model", "on_epoch_end", "on_train_end")
    ),
    *(
        f"tbq.query.dataset.LogDataset.{name}"
        for name in ("get_fragments", "sort_by", "join", "join_asof", "replace_schema")
    ),
}


def without_example() -> set[str]:
    """Public names without an example of their own; a property may be in that of its class."""
    found = set()
    for each in library.public():
        doc = inspect.getdoc(each.value) or ""
        shown = doc.partition(">>> ")[2]
        if not inspect.isclass(each.value):
            found |= set() if shown else {each.name}
            continue
        if issubclass(each.value, BaseException):
            continue
        members = library.members(each.value)
        docs = {name: inspect.getdoc(getattr(value, "__func__", value)) or "" for name, value in members}
        found |= {
            f"{each.name}.{name}"
            for name, text in docs.items()
            if ">>> " not in text and f".{name}" not in shown
        }
        if not shown and all(">>> " not in text for text in docs.values()):
            found.add(each.name)
    return found


def test_every_public_name_has_an_example() -> None:
    assert without_example() == NOT_FOR_PEOPLE


def test_every_column(reference: dict[str, str]) -> None:
    sections = reference["reference/tables.md"].split("\n## ")
    shown = {
        section.partition("\n")[0]: re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
        for section in sections[1:]
    }
    assert shown == {kind: schema(kind).names for kind in KINDS}
    used = {f"{kind}.{name}" for kind in KINDS for name in schema(kind).names}
    plain = {name.rpartition(".")[2] for name in used}
    assert [name for name in columns.COLUMNS if name not in (used if "." in name else plain)] == []
    with pytest.raises(SystemExit, match="does not explain fake of the table scalars"):
        columns.meaning("scalars", "fake")


def test_every_exit_code() -> None:
    page = (ROOT / "docs" / "environment.md").read_text("utf-8")
    pattern = r"(?:[eE]xit\(|exit_code = |= (?=\d+  # the exit code))(\d+)"
    used = {code for path in SOURCE for code in re.findall(pattern, path.read_text("utf-8"))}
    assert {"0", "1", "2", "3", "130"} <= used
    assert [code for code in sorted(used) if f"| {code} |" not in page] == []


def test_every_function_and_table_of_sql() -> None:
    page = (ROOT / "docs" / "sql.md").read_text("utf-8")
    assert [name for name in (*KINDS, *sql.DERIVED) if f"`{name}`" not in page] == []
    assert [name for name in scanning._MADE_OF if f"`{name}" not in page] == []


def test_every_address_of_the_server(reference: dict[str, str]) -> None:
    text = (ROOT / "src" / "tbq" / "server" / "http" / "app.py").read_text("utf-8")
    addresses = set(re.findall(r'Route\("/(api/[^"{]+)"', text)) | {f"api/{path}" for path in ROUTES}
    assert len(addresses) > 20
    page = reference["reference/http.md"]
    assert [each for each in sorted(addresses) if f" {each}`" not in page] == []


def test_every_finding_address_and_code(reference: dict[str, str]) -> None:
    for code, title in codes().items():
        assert f"# {code}: {title.rstrip('.')}" in reference[f"reference/findings/{code}.md"]
    for path in ROUTES:
        assert f"`GET api/{path}`" in reference["reference/http.md"]
    raised, found = tables.codes()
    assert len(raised) > 20 and len(found) > 10
    assert all(f"| `{code}` |" in reference["reference/errors.md"] for code in {*raised, *found})


def test_every_environment_variable() -> None:
    page = (ROOT / "docs" / "environment.md").read_text("utf-8")
    named = set()
    for path in SOURCE:
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and re.fullmatch(r"TBQ_[A-Z_]+", node.value)
            ):
                named.add(node.value)
        named |= set(re.findall(r'environ(?:ment)?(?:\.get\(|\[)"([A-Z_]+)"', text))
    assert {"TBQ_CACHE", "NO_COLOR"} <= named
    assert [name for name in sorted(named) if f"`{name}`" not in page] == []


def test_every_format() -> None:
    page = (ROOT / "docs" / "formats.md").read_text("utf-8")
    assert [name for name in tbq.export.FORMATS if f"`{name}`" not in page] == []


def test_the_page_for_assistants_has_every_command_table_and_class() -> None:
    text = assistant.everything()
    assert all(f"**tbq {name}**" in text for name in COMMANDS)
    assert all(f"- `{kind}`: " in text for kind in KINDS)
    assert all(f"`{each.name}`" in text for each in library.public())


def test_every_page_has_a_place(tmp_path: Path, reference: dict[str, str]) -> None:
    pages.copy(tmp_path)
    for name, text in {**reference, "reference/assistant.md": assistant.everything()}.items():
        pages.write(tmp_path / name, text)
    for path in (ROOT / "docs" / "notebooks").glob("*.ipynb"):
        pages.write(tmp_path / "notebooks" / f"{path.stem}.md", f"# {path.stem}\n")
    pages.write(tmp_path / "new.md", "# A page that nobody placed\n")
    pages.write(tmp_path / "new" / "page.md", "# A page in a new folder\n")
    nav = navigation.nav(tmp_path)
    absent = [
        name
        for path in tmp_path.rglob("*.md")
        if f'"{(name := path.relative_to(tmp_path).as_posix())}"' not in nav
    ]
    assert absent == []
    pages.write(tmp_path / "how" / "unlinked.md", "# Unlinked\n")
    with pytest.raises(SystemExit, match=r"how/index\.md does not link to unlinked\.md"):
        navigation.nav(tmp_path)


def test_no_page_waits_for_its_text(tmp_path: Path) -> None:
    pages.copy(tmp_path)
    marks = re.compile(r"@@\w*@@|\b(?:TODO|FIXME|TBD|XXX)\b")
    texts = {path.name: re.sub(r"`[^`\n]*`", "", path.read_text("utf-8")) for path in tmp_path.rglob("*.md")}
    assert len(texts) > 60
    assert {name: found for name, text in texts.items() if (found := marks.findall(text))} == {}


def test_links_between_pages() -> None:
    source = "docs/how/csv.md"
    assert pages.linked("[a](../formats.md#x)", source, "how/csv.md") == "[a](../formats.md#x)"
    assert pages.linked("[a](docs/kinds.md)", "SECURITY.md", "security.md") == "[a](kinds.md)"
    assert pages.linked("[`x`](docs/images/kinds.py)", "README.md", "x.md") == "`x`"
    assert (
        pages.linked("```sh\n[a](nowhere.md)\n```\n", source, "how/csv.md") == "```sh\n[a](nowhere.md)\n```\n"
    )
    pages.linked((ROOT / "README.md").read_text("utf-8"), "README.md", "readme.md")
    with pytest.raises(SystemExit, match="leads nowhere"):
        pages.linked("[a](nowhere.md)", source, "how/csv.md")


@pytest.mark.long
@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem
)
def test_notebooks_run_and_are_stored_without_output(path: Path) -> None:
    from docs.site import notebooks

    assert '"outputs": [{' not in path.read_text("utf-8")
    notebook = notebooks.run(path)
    text = notebooks.page(notebook, path.name)
    assert "Warning" not in text and text.count("```") % 2 == 0

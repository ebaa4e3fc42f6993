"""`tbq demo`: write a sample logdir."""

from __future__ import annotations

import click


@click.command(name="demo", epilog="\b\nExample:\n  tbq demo runs")
@click.argument("directory", metavar="DIR")
@click.option(
    "--force", is_flag=True, help="Write into a directory that is not empty; replaces an earlier demo."
)
def command(directory: str, force: bool) -> None:
    """Write a sample logdir: a sweep with one resumed and one diverged run, and every kind of data."""
    import tbq
    from tbq.cli.emit import show, tell

    path = tbq.demo(directory, force=force)
    runs = sorted({file.parent.relative_to(path).as_posix() for file in path.rglob("*tfevents*")})
    tell(f"{len(runs)} runs in {path}:", name="")
    show("\n".join(runs))

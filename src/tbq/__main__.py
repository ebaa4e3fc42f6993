"""`python -m tbq` is `tbq`."""

from tbq.cli import program

if __name__ == "__main__":
    program()

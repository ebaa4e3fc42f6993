"""`python -m tbq` is `tbq`."""

from tbq.cli import main

if __name__ == "__main__":
    main()

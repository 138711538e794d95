"""Lets `python -m coldfork` do what the `coldfork` command does."""

from coldfork.cli.main import main

if __name__ == "__main__":
    main()

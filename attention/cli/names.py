"""Names of implementations on a command line."""

import click


class Implementations(click.Option):
    """An option that names implementations; its help lists them, read from the table then only."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The help with every name there is (importing torch takes seconds)."""
        from attention.implementations import IMPLEMENTATIONS

        record = super().get_help_record(ctx)
        return record and (record[0], f"{record[1]}  Names: {', '.join(IMPLEMENTATIONS)}.")


def parse_names(text: str) -> tuple[str, ...]:
    """Names between commas, each once, in their order."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",")))

"""References to tables of a database: a name that is there to be imported."""

from __future__ import annotations

from typing import Any

from ferry.not_yet import not_yet


__all__ = ["SqlDataReference"]


class SqlDataReference:
    """A query or a table of a database. Making one says that databases are not served."""

    def __init__(self, datastore: Any, data_reference_name: str | None = None, sql_table: str | None = None, sql_query: str | None = None,
                 sql_stored_procedure: str | None = None, sql_stored_procedure_params: Any = None) -> None:
        raise not_yet("SqlDataReference", "Export the table to files and put them on a datastore.")

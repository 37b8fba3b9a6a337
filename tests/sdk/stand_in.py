"""A run configuration for tests that are not about run configurations."""

from ferry_fixture import PYTHON


class StandIn:
    """What ScriptRunConfig needs of a RunConfiguration."""

    def __init__(self, **fields):
        self.script = self.command = None
        self.arguments = []
        self.target = "local"
        self.fields = fields

    def _submission(self, workspace=None, source_directory=None):
        body = {"target": getattr(self.target, "name", self.target), **self.fields}
        if self.max_run_duration_seconds:
            body["max_duration_seconds"] = self.max_run_duration_seconds
        if self.command:
            body["command"] = ["sh", "-c", self.command] if isinstance(self.command, str) else list(self.command)
        if self.script:
            body.update(script=self.script, interpreter=PYTHON, arguments=[str(argument) for argument in self.arguments])
        return body

"""What the SDK raises. Every class has ``.message``; all derive from :class:`AzureMLException`."""

from __future__ import annotations


class AzureMLException(Exception):
    """The base of all. ``message`` is one sentence for people, ``inner_exception`` the cause where there is one."""

    def __init__(self, exception_message: str = "", inner_exception: BaseException | None = None, **_: object) -> None:
        super().__init__(exception_message)
        self.message = exception_message
        self.inner_exception = inner_exception

    def __str__(self) -> str:
        return str(self.message)


class UserErrorException(AzureMLException):
    """An argument or a setting is wrong; the message names it."""


class RunEnvironmentException(AzureMLException):
    """The process is not inside a run, or cannot reach the run it is inside."""


class ServiceException(AzureMLException):
    """The other side refused the request or could not serve it."""


class ActivityFailedException(AzureMLException):
    """A run that was waited for has failed."""


class ExperimentExecutionException(AzureMLException):
    """A run could not be started."""


class ExperimentNotFoundException(AzureMLException):
    """No experiment has this name."""


class AuthenticationException(AzureMLException):
    """The credentials are missing or not accepted."""


class ComputeTargetException(AzureMLException):
    """A compute target does not exist, or its operation failed."""


class WebserviceException(AzureMLException):
    """A web service operation failed."""


class ModelNotFoundException(WebserviceException):
    """No model has this name or id."""


class ModelPathNotFoundException(AzureMLException):
    """The path given for a model holds nothing."""


class ProjectSystemException(AzureMLException):
    """The folder's configuration is missing or wrong."""


class RunConfigurationException(AzureMLException):
    """A run configuration is wrong."""


class SnapshotException(AzureMLException):
    """The source folder cannot be captured."""


class TrainingException(AzureMLException):
    """A training operation failed."""


class WorkspaceException(AzureMLException):
    """A workspace operation failed."""


class DatasetTimestampMissingError(AzureMLException):
    """A time series operation met a dataset without a timestamp column."""


class ScenarioNotSupportedException(AzureMLException):
    """What was asked for is a part of Azure ML that is not served here."""


class MissingAttributeException(ScenarioNotSupportedException, AttributeError):
    """An attribute that the class has in Azure ML and does not have here. ``hasattr`` answers False."""


class DiscoveryUrlNotFoundException(AzureMLException):
    """The address of a service is not known."""


class ImageException(AzureMLException):
    """An operation on an image of a model failed."""


class OptionalDependencyMissingException(AzureMLException):
    """A package that this call needs is not installed; the message says which."""


class UrlResolveException(AzureMLException):
    """An address cannot be resolved."""

"""Azure's ways to log in. Ferry's token comes from the environment or the data folder; these classes stand for it, and give a token of
their own where neither has one."""

from __future__ import annotations

from enum import Enum
from typing import Any, Callable

from azureml.exceptions import AuthenticationException, UserErrorException

__all__ = ["AbstractAuthentication", "ArmTokenAuthentication", "Audience", "AzureCliAuthentication", "InteractiveLoginAuthentication",
           "MsiAuthentication", "ServicePrincipalAuthentication", "TokenAuthentication"]


class Audience(Enum):
    """For whom a token is meant."""

    arm = "https://management.azure.com/"
    aml = "https://ml.azure.com"
    ARM = arm
    AML = aml

    @classmethod
    def aml_resource_id(cls) -> str:
        """The text of the audience ``aml``."""
        return str(cls.aml.value)


class AbstractAuthentication:
    """A login. :meth:`get_authentication_header` gives what a request to the server has to carry."""

    def get_authentication_header(self) -> dict[str, str]:
        """``{"Authorization": "Bearer TOKEN"}`` with the token of the server in use. Raises AuthenticationException without one."""
        from ferry.client import Client

        token = Client.find(self).token
        if not token:
            raise AuthenticationException("there is no token for the server: set FERRY_TOKEN (or FERRY_TOKEN_FILE) to one made by: ferry token create")
        return {"Authorization": "Bearer " + token}

    def get_token(self, *scopes: Any, **_: Any) -> Any:
        """The token alone, as Azure's credentials give it: with ``token`` and ``expires_on``."""
        from collections import namedtuple

        return namedtuple("AccessToken", ("token", "expires_on"))(self.get_authentication_header()["Authorization"][len("Bearer "):], 2**31 - 1)

    def _ferry_token(self) -> str | None:
        """The token that this login brings along."""
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class InteractiveLoginAuthentication(AbstractAuthentication):
    """The login in a browser, which Ferry does not need; ``force``, ``tenant_id`` and ``cloud`` are accepted."""

    def __init__(self, force: bool = False, tenant_id: str | None = None, cloud: str | None = None) -> None:
        self._force = force
        self._tenant_id = tenant_id
        self._cloud = cloud


class AzureCliAuthentication(AbstractAuthentication):
    """The login of the command line."""

    def __init__(self, cloud: str | None = None) -> None:
        self._cloud = cloud


class MsiAuthentication(AbstractAuthentication):
    """The login of the machine."""

    def __init__(self, cloud: str | None = None) -> None:
        self._cloud = cloud


class ServicePrincipalAuthentication(AbstractAuthentication):
    """The login of a program. The password is taken as Ferry's token where the environment has none."""

    def __init__(self, tenant_id: str | None = None, service_principal_id: str | None = None, service_principal_password: str | None = None,
                 cloud: str | None = None, _enable_caching: bool = True, username: str | None = None, password: str | None = None) -> None:
        self._tenant_id = tenant_id
        self._service_principal_id = service_principal_id or username
        self._service_principal_password = service_principal_password or password
        if not self._service_principal_id or not self._service_principal_password:
            raise UserErrorException("service_principal_id and service_principal_password are needed")

    def _ferry_token(self) -> str | None:
        return self._service_principal_password


class TokenAuthentication(AbstractAuthentication):
    """The login by a function that is given an audience and returns a token."""

    def __init__(self, get_token_for_audience: Callable[[Any], str], cloud: str | None = None) -> None:
        if not callable(get_token_for_audience):
            raise UserErrorException(
                f"get_token_for_audience must be a function, not a value of type {type(get_token_for_audience).__name__}")
        self._get_token_for_audience = get_token_for_audience

    def get_token(self, audience: Any = Audience.aml, *_: Any, **__: Any) -> str:
        """What the function gives for the audience."""
        return self._get_token_for_audience(audience)

    @staticmethod
    def get_aml_resource_id(*_: Any) -> str:
        """The text of the audience ``aml``."""
        return Audience.aml_resource_id()

    def _ferry_token(self) -> str | None:
        return self.get_token(Audience.aml)


class ArmTokenAuthentication(AbstractAuthentication):
    """The login by a token that is at hand."""

    def __init__(self, arm_access_token: str, cloud: str | None = None) -> None:
        self._token = arm_access_token

    def update_arm_access_token(self, new_arm_access_token: str) -> None:
        """Takes another token."""
        self._token = new_arm_access_token

    def _ferry_token(self) -> str | None:
        return self._token

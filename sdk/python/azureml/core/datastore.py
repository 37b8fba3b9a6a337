"""Datastores by their names, and their registration."""

from __future__ import annotations

import os
from typing import Any

from azureml.data.abstract_datastore import AbstractDatastore
from azureml.data.azure_data_lake_datastore import AzureDataLakeDatastore, AzureDataLakeGen2Datastore
from azureml.data.azure_storage_datastore import AbstractAzureStorageDatastore, AzureBlobDatastore, AzureFileDatastore
from azureml.exceptions import UserErrorException
from ferry import values
from ferry.not_yet import not_yet

__all__ = ["Datastore"]

_CLASSES = {
    "AzureBlob": AzureBlobDatastore,
    "AzureFile": AzureFileDatastore,
    "AzureDataLake": AzureDataLakeDatastore,
    "AzureDataLakeGen2": AzureDataLakeGen2Datastore,
}
_MOST_NAMED = 10


class Datastore:
    """The entry to a workspace's datastores. ``Datastore(workspace, name)`` is ``Datastore.get(workspace, name)``; without a name it is
    the default one.

    Azure's storage is not reached from here. What a script registers as a container of an account is found when an administrator has
    attached a folder or an S3-compatible store under the same account and container (:meth:`register_folder`,
    :meth:`register_s3_bucket`).
    """

    def __new__(cls, workspace: Any, name: str | None = None) -> Any:
        return cls.get_default(workspace) if name is None else cls.get(workspace, name)

    @staticmethod
    def get(workspace: Any, datastore_name: str) -> AbstractDatastore:
        """The datastore of this name. UserErrorException names those that there are."""
        from ferry.client import NotFound, quote

        name = values.check_name(datastore_name, "datastore_name")
        try:
            return Datastore._from_view(workspace, workspace._client.get(f"/datastores/{quote(name)}", workspace=workspace.name))
        except NotFound as error:
            raise UserErrorException(f"workspace '{workspace.name}' has no datastore '{name}'; it has {_names(_all(workspace))}", error) from None

    @staticmethod
    def get_default(workspace: Any) -> AbstractDatastore:
        """The workspace's default datastore."""
        for store in _all(workspace).values():
            if store.is_default:
                return store
        return Datastore.get(workspace, "workspaceblobstore")

    @staticmethod
    def _from_view(workspace: Any, view: dict[str, Any]) -> AbstractDatastore:
        """The datastore of a server's answer."""
        return _CLASSES.get(view.get("type", ""), AbstractAzureStorageDatastore)(workspace, view)

    # Ferry's own

    @staticmethod
    def register_folder(workspace: Any, datastore_name: str, path: Any, account_name: str | None = None, container_name: str | None = None,
                        description: str = "", tags: dict[str, str] | None = None, overwrite: bool = False,
                        skip_validation: bool = False) -> AbstractDatastore:
        """Attaches a folder of the server's machine; for owners. With ``account_name`` and ``container_name`` it is what scripts find
        that register this container of Azure's."""
        folder = os.fsdecode(os.fspath(path))
        if not os.path.isabs(folder):
            raise UserErrorException(f"path must be an absolute path of the server's machine, not '{folder}'")
        body = {"kind": "folder", "folder": folder}
        return _register(workspace, datastore_name, body, account_name, container_name, description, tags, overwrite, skip_validation)

    @staticmethod
    def register_s3_bucket(workspace: Any, datastore_name: str, bucket_name: str, endpoint: str | None = None, access_key: str | None = None,
                           secret_key: str | None = None, region: str | None = None, prefix: str | None = None,
                           account_name: str | None = None, container_name: str | None = None, description: str = "",
                           tags: dict[str, str] | None = None, overwrite: bool = False, skip_validation: bool = False) -> AbstractDatastore:
        """Attaches a bucket of an S3-compatible store. The server keeps the secret sealed. ``account_name`` and ``container_name`` as in
        :meth:`register_folder`."""
        body = {"kind": "s3", "bucket": values.check_name(bucket_name, "bucket_name"), "endpoint": endpoint, "access_key": access_key,
                "secret_key": secret_key, "region": region, "prefix": prefix}
        return _register(workspace, datastore_name, body, account_name, container_name, description, tags, overwrite, skip_validation)

    # Azure's

    @staticmethod
    def register_azure_blob_container(workspace: Any, datastore_name: str, container_name: str, account_name: str,
                                      sas_token: str | None = None, account_key: str | None = None, protocol: str | None = None,
                                      endpoint: str | None = None, overwrite: bool = False, create_if_not_exists: bool = False,
                                      skip_validation: bool = False, blob_cache_timeout: int | None = None,
                                      grant_workspace_access: bool = False, subscription_id: str | None = None,
                                      resource_group: str | None = None) -> AbstractDatastore:
        """The datastore that was attached for this container. Keys and tokens are not needed and not sent."""
        return _resolve(workspace, datastore_name, account_name, container_name, "container")

    @staticmethod
    def register_azure_file_share(workspace: Any, datastore_name: str, file_share_name: str, account_name: str, sas_token: str | None = None,
                                  account_key: str | None = None, protocol: str | None = None, endpoint: str | None = None,
                                  overwrite: bool = False, create_if_not_exists: bool = False, skip_validation: bool = False) -> AbstractDatastore:
        """The datastore that was attached for this file share. Keys and tokens are not needed and not sent."""
        return _resolve(workspace, datastore_name, account_name, file_share_name, "file share")

    @staticmethod
    def register_azure_data_lake(workspace: Any, datastore_name: str, store_name: str, tenant_id: str | None = None,
                                 client_id: str | None = None, client_secret: str | None = None, resource_url: str | None = None,
                                 authority_url: str | None = None, subscription_id: str | None = None, resource_group: str | None = None,
                                 overwrite: bool = False, grant_workspace_access: bool = False) -> AbstractDatastore:
        """The datastore that was attached for this data lake: its store is the account, and the container is empty."""
        return _resolve(workspace, datastore_name, store_name, "", "data lake")

    @staticmethod
    def register_azure_data_lake_gen2(workspace: Any, datastore_name: str, filesystem: str, account_name: str, tenant_id: str | None = None,
                                      client_id: str | None = None, client_secret: str | None = None, resource_url: str | None = None,
                                      authority_url: str | None = None, protocol: str | None = None, endpoint: str | None = None,
                                      overwrite: bool = False, subscription_id: str | None = None, resource_group: str | None = None,
                                      grant_workspace_access: bool = False) -> AbstractDatastore:
        """The datastore that was attached for this file system."""
        return _resolve(workspace, datastore_name, account_name, filesystem, "file system")

    @staticmethod
    def register_azure_sql_database(workspace: Any, datastore_name: str, server_name: str, database_name: str, *args: Any,
                                    **kwargs: Any) -> AbstractDatastore:
        """Says that databases are not served."""
        raise _no_database("register_azure_sql_database")

    @staticmethod
    def register_azure_postgre_sql(workspace: Any, datastore_name: str, server_name: str, database_name: str, user_id: str | None = None,
                                   user_password: str | None = None, *args: Any, **kwargs: Any) -> AbstractDatastore:
        """Says that databases are not served."""
        raise _no_database("register_azure_postgre_sql")

    @staticmethod
    def register_azure_my_sql(workspace: Any, datastore_name: str, server_name: str, database_name: str, user_id: str | None = None,
                              user_password: str | None = None, *args: Any, **kwargs: Any) -> AbstractDatastore:
        """Says that databases are not served."""
        raise _no_database("register_azure_my_sql")

    @staticmethod
    def register_dbfs(workspace: Any, datastore_name: str) -> AbstractDatastore:
        """Says that the Databricks file system is not served."""
        raise not_yet("Datastore.register_dbfs")

    @staticmethod
    def register_hdfs(workspace: Any, datastore_name: str, protocol: str, namenode_address: str, *args: Any, **kwargs: Any) -> AbstractDatastore:
        """Says that HDFS is not served."""
        raise not_yet("Datastore.register_hdfs")


def _all(workspace: Any) -> dict[str, AbstractDatastore]:
    """Every datastore of the workspace, by name."""
    return {view["name"]: Datastore._from_view(workspace, view) for view in workspace._client.pages("/datastores", "datastores", workspace=workspace.name)}


def _names(names: Any) -> str:
    listed = sorted(names)
    more = len(listed) - _MOST_NAMED
    return ", ".join(f"'{name}'" for name in listed[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _register(workspace: Any, name: str, body: dict[str, Any], account_name: str | None, container_name: str | None, description: str,
              tags: dict[str, str] | None, overwrite: bool, skip_validation: bool) -> AbstractDatastore:
    from ferry.client import Conflict, quote

    values.check_name(name, "datastore_name")
    if container_name and not account_name:
        raise UserErrorException("container_name needs account_name: scripts register both")
    azure = {"account_name": account_name, "container_name": container_name or ""} if account_name else {}
    whole = {key: value for key, value in body.items() if value is not None}
    whole.update(workspace=workspace.name, azure=azure, description=description or "", tags=dict(tags or {}), overwrite=bool(overwrite),
                 skip_validation=bool(skip_validation))
    try:
        workspace._client.put(f"/datastores/{quote(name)}", whole)
    except Conflict as error:
        raise UserErrorException(f"{error.message}; pass overwrite=True to replace it" if "overwrite" not in error.message else error.message,
                                 error) from None
    return Datastore.get(workspace, name)


def _resolve(workspace: Any, name: str, account: str, container: str, what: str) -> AbstractDatastore:
    """The datastore that stands for a container of Azure's."""
    values.check_name(name, "datastore_name")
    values.check_name(account, "account_name" if container or what != "data lake" else "store_name")
    if container or what != "data lake":
        values.check_name(container, "container_name" if what == "container" else "filesystem" if what == "file system" else "file_share_name")
    stores = _all(workspace)
    found = [store for store in stores.values() if (store._azure("account_name"), store._azure("container_name")) == (account, container)]
    for store in found:
        if store.name == name:
            return store
    if found:
        print(f"The {what} '{container}' of account '{account}' is attached as datastore '{found[0].name}', not as '{name}': scripts find it "
              "under that name")
        return found[0]
    known = {f"{store._azure('account_name')}/{store._azure('container_name')}": store.name for store in stores.values() if store._azure("account_name")}
    said = ", ".join(f"'{azure}' as '{store}'" for azure, store in sorted(known.items())[:_MOST_NAMED]) or "none"
    raise UserErrorException(
        f"no datastore of workspace '{workspace.name}' stands for {what} '{container}' of account '{account}', and Azure's storage is not "
        f"reached from here. Attached are: {said}. Attach a folder or an S3-compatible store in its place: "
        f"Datastore.register_folder(workspace, '{name}', '/path', account_name='{account}', container_name='{container}'), or "
        f"Datastore.register_s3_bucket(workspace, '{name}', 'bucket', endpoint=..., access_key=..., secret_key=..., "
        f"account_name='{account}', container_name='{container}')")


def _no_database(what: str) -> Exception:
    return not_yet(f"Datastore.{what}", "Export the tables to files and put them on a datastore.")

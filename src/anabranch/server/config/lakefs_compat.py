"""Settings of lakeFS that have no effect here. They are known, so that a configuration file of
lakeFS can be used unchanged.

A name includes all settings below it.
"""

from __future__ import annotations

__all__ = ["is_known_to_lakefs"]

_NAMES = (
    "actions.enabled",
    "actions.env.prefix",
    "auth.api",
    "auth.authentication_api",
    "auth.cache.jitter",
    "auth.cookie_auth_verification",
    "auth.cookie_domain",
    "auth.login_max_duration",
    "auth.oidc.callback_base_urls",
    "auth.oidc.post_login_redirect_url",
    "auth.providers",
    "auth.remote_authenticator",
    "auth.ui_config",
    "blockstore.azure.china_cloud",
    "blockstore.azure.disable_pre_signed_ui",
    "blockstore.azure.try_timeout",
    "blockstore.gs.disable_pre_signed_ui",
    "blockstore.gs.s3_endpoint",
    "blockstore.gs.server_side_encryption_customer_supplied",
    "blockstore.gs.server_side_encryption_kms_key_id",
    "blockstore.local.import_hidden",
    "blockstore.s3.client_log_request",
    "blockstore.s3.client_log_retries",
    "blockstore.s3.disable_pre_signed_ui",
    "blockstore.s3.server_side_encryption",
    "blockstore.s3.server_side_encryption_kms_key_id",
    "blockstore.s3.skip_verify_certificate_test_only",
    "blockstore.s3.web_identity",
    "blockstores",
    "branch_ownership",
    "committed.block_storage_prefix",
    "committed.local_cache.max_uploaders_per_writer",
    "committed.local_cache.metarange",
    "committed.local_cache.metarange_proportion",
    "committed.local_cache.range",
    "committed.local_cache.range_proportion",
    "committed.permanent",
    "committed.sstable",
    "database.cosmosdb",
    "database.drop_tables",
    "database.dynamodb",
    "database.local.enable_logging",
    "database.local.prefetch_size",
    "database.local.sync_writes",
    "database.postgres.metrics",
    "database.postgres.scan_page_size",
    "database.redis",
    "email",
    "email_subscription",
    "features",
    "gateways.s3.fallback_url",
    "gateways.s3.verify_unsupported",
    "graveler",
    "iceberg",
    "installation.allow_inter_region_storage",
    "installation.fixed_id",
    "license",
    "logging.file_max_size_mb",
    "logging.files_keep",
    "logging.output",
    "logging.trace_request_headers",
    "mds",
    "plugins",
    "security",
    "stats",
    "tls",
    "ugc",
    "ui",
    "usage_report",
)


def is_known_to_lakefs(name: str, separator: str = ".") -> bool:
    """Returns whether a name is that of a lakeFS setting that has no effect here. Its parts are
    separated by `separator`.
    """
    known = (each.replace(".", separator) for each in _NAMES)
    return any(name == each or name.startswith(each + separator) for each in known)

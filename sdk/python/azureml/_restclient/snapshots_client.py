"""Scripts set ``SNAPSHOT_MAX_SIZE_BYTES`` here to submit larger folders. Ferry's own limit is far above it, so it changes nothing."""

SNAPSHOT_MAX_SIZE_BYTES = 300 * 1024 * 1024
SNAPSHOT_MAX_FILES = 2000

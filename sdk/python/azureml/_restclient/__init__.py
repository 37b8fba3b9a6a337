"""The one setting of Azure's private clients that scripts change."""

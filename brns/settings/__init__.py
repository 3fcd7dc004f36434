"""Our parts by name, and the settings of any: changed, described as JSON, compared."""

"""The REST API: thin handlers over operations and insights."""

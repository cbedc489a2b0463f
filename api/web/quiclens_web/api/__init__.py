"""The HTTP API: the same questions as the command line, as JSON for programs and for the pages."""

"""The human form of each document: rich renderables, nothing is asked or decided here."""

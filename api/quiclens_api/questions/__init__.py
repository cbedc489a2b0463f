"""One module per question: values from the store, as the JSON document that --json prints."""

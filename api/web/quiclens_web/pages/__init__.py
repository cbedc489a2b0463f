"""The pages: templates filled here, plain JavaScript modules that draw what the API answers."""

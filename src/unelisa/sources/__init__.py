"""Where votes come from."""

"""Nothing: what is looked for is the folder."""

"""A small tree of loaders, for tests."""

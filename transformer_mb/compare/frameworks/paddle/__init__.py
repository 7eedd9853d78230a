"""The built-ins of one framework, by topic; functions have the same names in every framework."""

"""Results for people and for programs: a table as Markdown and on the screen, a JSON record read and checked, output files."""

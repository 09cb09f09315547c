"""The output of commands: histories, search matches, build output, tables in columns, manuals."""

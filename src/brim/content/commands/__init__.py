"""What commands print: histories, search matches, build output, tables in columns, manuals."""

"""CSV, spreadsheets and accessibility snapshots."""

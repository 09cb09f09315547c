"""The table form of JSON: like objects as rows under one header."""

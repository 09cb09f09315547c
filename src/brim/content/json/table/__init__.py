"""The table form of JSON: similar objects become rows under one header."""

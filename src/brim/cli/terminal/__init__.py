"""What the commands read and write."""

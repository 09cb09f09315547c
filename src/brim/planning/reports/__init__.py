"""What a plan tells: decisions and layers as data, and as text for a person."""

"""Commands that run the gateway and look after it: serving, watching, keys, the store."""

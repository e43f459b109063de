"""Put memory-core into the configuration of other people's hosts, and take it out again."""

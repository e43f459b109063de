"""The items file of one agent: user data, which no rebuild drops. The only room with SQL about items."""

"""Every host against the real library or program it is made for."""

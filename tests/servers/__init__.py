"""Servers on the loopback interface that speak vendors' protocols, with faults to order."""

"""Attacks on memory-core by the thousand, through public surfaces only: `python -m tests.torture`, or `make torture`.

Four attacks, one module each: `provider` (hostile embedding servers), `tools` (hostile tool calls), `damage` (damaged index
files) and `kills` (kill -9). A case is made from the seed and its number alone, so `--case ATTACK:N` repeats it. Cases run
in worker processes, so that one that hangs or dies is a finding and not the end.
"""

"""`quiclens-lab start-up`: what each command costs before it does anything, in processor time.

Each command of `quiclens --help` is run, several times, and the cheapest run counts. `--help` and `--version` have a
bar of their own. Of a command that opens a store, the start of the engine is taken off: what Python takes to open the
same store and ask `SELECT 1`. A command that answers and ends is asked on a store that has tables and no rows. One that
goes on (`serve`, `ingest`, `lines`) is started for real, and counts until it tells systemd that it has begun; nobody is
at the broker's address. `demo` counts until its first words. `load` loads one log into an empty store; the work of a
log is taken off, which is what each of ten more costs. The whole of a `load` and of a `demo` of one connection, and the
work in it, are told beside, without a bar. Bytecode is written, as where a wheel is installed.

stdout is one JSON document; exit 1 where a bar is missed.
"""

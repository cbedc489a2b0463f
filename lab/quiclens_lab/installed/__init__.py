"""`quiclens-lab installed`: is what `make release` made enough for a machine that has nothing?

First what can be said of the files alone: SHA256SUMS, the SBOM, the rpm beside the deb, the glibc that the collector
needs. Then on a Debian of packages alone, made by mmdebstrap and run by podman, which has Python and systemd and no
compiler: the wheels are installed and the demo explains its first request, within a time. The deb's service, under a
real systemd, ships the rows of a log that is put into its folder, and a secret in its address, file and environment
stands in no journal, status and check. The units are installed by the commands that deploy/README.md prints, started
with Kafka away, and looked at by systemd-analyze; a collector that hangs is started again by systemd, and no row is
lost or doubled by that. stdout is one JSON document; exit 1 where one of these is missed or breaks.

It needs root, podman, runc, mmdebstrap and bsdtar; `--base` is where the image's archive is kept between runs.
"""

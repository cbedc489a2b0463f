"""`quiclens-lab containers`: do the images build and does deploy/compose.yaml run, as a user would run them?

podman does it, with images of Debian's packages in the place of those of registries (`standins/`), and one override for
what cannot be made of packages. `--base` is where archives of images are kept, `--tools` has podman-compose.
"""

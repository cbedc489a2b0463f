"""What the project is made of: packages of all lock files, their licences, sources, hashes and known weaknesses."""

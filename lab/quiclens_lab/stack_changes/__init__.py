"""`quiclens-lab stack-changes`: does `quiclens diff` find what a change of a QUIC stack did to its requests?"""

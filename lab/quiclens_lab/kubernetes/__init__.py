"""`quiclens-lab kubernetes`: is the Helm chart one that clusters take, and do the programs take what it gives them?"""

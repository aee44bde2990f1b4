"""The latent Ising model: a hidden truth behind the votes, and voters who depend on each other."""

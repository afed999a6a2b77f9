"""The simulator of a cluster with spares: `relfit.simulation.simulate_sparing`."""

"""A system with spares, simulated event by event: `relfit.simulation.simulate_sparing`."""

"""Where pairs come from: text, baskets, matrices, frames; one file each. `dyads.read` is the front door."""

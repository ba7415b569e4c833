"""Tasks: their modes and turns, the pause for approvals, what an agent may do in it, the queue."""

"""What training would take on a device: memory, time and cost, before anything is trained."""

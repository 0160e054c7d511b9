"""Speed and quality compared with other toolkits; every speed is a ratio from one run."""

"""The parts models are made of: each module holds parameters, state goes in and comes out."""

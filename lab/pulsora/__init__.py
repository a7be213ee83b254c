"""Pulsora's own tests, held against a server of ours that answers its clients as it did."""
